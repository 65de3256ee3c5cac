r"""Patterns as files of other libraries have them: read to, and written from, patterns of definitions.

A definition has a pattern in the syntax of the `regex` package, or in that of its origin, with a mark
(unicode_regex/dialects.py). The published patterns are known by their text in each dialect.
"""

from __future__ import annotations

from tokkit.errors import FormatError, PatternError
from tokkit.pretokenizers import patterns

ONIGURUMA, FANCY_REGEX = "oniguruma", "fancy_regex"
"""The dialects of tokenizers (tokenizer.json) and of tiktoken."""


def _published(dialect: str) -> dict[str, str]:
    """Return text in a file → our text of the same pattern; (?V1) means nothing to other engines."""
    special = patterns.in_files(dialect)
    alike = {text: text for text in patterns.NAMES.values() if text not in special and "(?V1)" not in text}
    return {**alike, **{text: ours for ours, texts in special.items() for text in texts}}


_PUBLISHED = {dialect: _published(dialect) for dialect in (ONIGURUMA, FANCY_REGEX)}
_READERS = {ONIGURUMA: "tokenizers", FANCY_REGEX: "tiktoken"}


def read(text: str, dialect: str) -> str:
    r"""Return the pattern of a definition for the text in a file; PatternError for syntax that is not supported.

    >>> read(r"\h+|\s", ONIGURUMA), read(r"\p{L}+|\s", ONIGURUMA)
    ('(?oniguruma)\\h+|\\s', '\\p{L}+|\\s')
    """
    if (ours := _PUBLISHED[dialect].get(text)) is not None:
        return ours
    # Most patterns are published ones, and load without importing the compiler.
    from tokkit.unicode_regex import dialects, writing

    return writing.adopted(text, dialects.MARKED[dialect])


def write(pattern: str, dialect: str) -> str:
    r"""Return the text of a pattern in a dialect; FormatError if no text of the same meaning is known.

    >>> write(r"(?oniguruma)\h+|\p{N}{1,3}", FANCY_REGEX)
    '\\h+|\\p{N}{1,3}'
    """
    for text, ours in _PUBLISHED[dialect].items():
        if ours == pattern:
            return text
    from tokkit.unicode_regex import dialects, tree, writing

    try:
        return writing.in_dialect(pattern, dialects.MARKED[dialect])
    except (tree.NotRegular, PatternError) as error:
        raise FormatError(
            f"pattern: {dialects.unmarked(pattern)!r} has no equivalent that is known in the syntax of {dialect}, "
            f"which {_READERS[dialect]} runs: {error}"
        ) from None
