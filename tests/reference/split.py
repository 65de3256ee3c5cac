"""A pattern and a text in, pieces out: the split patterns run by the `regex` package, with Unicode 16.0.0 classes.

`regex` follows a newer Unicode than the encodings do. So each character is first replaced by one of the same
category that every version of Unicode has put there since long ago; the pattern runs on those, and the spans
that it finds cut the real text. ASCII and U+017F (which folds to s) are their own representatives, so whatever
a pattern spells out literally is still found.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import regex

# One character, old and without ties to ASCII, for each number of data/make_unicode_tables.py: the 30 general
# categories in their order, then white space among the controls, then line ends.
REPRESENTATIVES = (
    ("Lu", "É"), ("Ll", "é"), ("Lt", "ǅ"), ("Lm", "ʰ"), ("Lo", "中"), ("Mn", "\u0301"), ("Mc", "\u0903"),
    ("Me", "\u20dd"), ("Nd", "٣"), ("Nl", "Ⅷ"), ("No", "²"), ("Pc", "‿"), ("Pd", "—"), ("Ps", "༺"), ("Pe", "༻"),
    ("Pi", "«"), ("Pf", "»"), ("Po", "¿"), ("Sm", "±"), ("Sc", "¢"), ("Sk", "¨"), ("So", "©"), ("Zs", "\u3000"),
    ("Zl", "\u2028"), ("Zp", "\u2029"), ("Cc", "\x01"), ("Cf", "\u2060"), ("Cs", "\ufffd"), ("Co", "\ue000"),
    ("Cn", "\U0003ffff"), ("white control", "\t"), ("line end", "\n"),
)  # fmt: skip
THEMSELVES = frozenset(map(chr, [*range(0x80), 0x17F])) - frozenset("\x1c\x1d\x1e\x1f")


def category(character: str) -> int:
    """The number of a character's category in Unicode 16.0.0: from the core, or without it from unicodedata2."""
    try:
        from tokkit._core.text import category as of_core
    except ImportError:
        import unicodedata2

        if character in "\n\r":
            return 31
        if character in "\t\v\f\x85":
            return 30
        return [name for name, _ in REPRESENTATIVES].index(unicodedata2.category(character))
    return of_core(ord(character))


@cache
def representative(character: str) -> str:
    """A character that every pattern here takes for the same."""
    return character if character in THEMSELVES else REPRESENTATIVES[category(character)][1]


@cache
def compiled(pattern: str) -> regex.Pattern[str]:
    # Python's `$` is also the place before a last newline, Rust's is not; behind the `\s++` of the patterns, which
    # leaves no newline, that makes no difference.
    return regex.compile(pattern)


def spans(pattern: str | None, text: str, *, keep_unmatched: bool = False) -> Iterator[tuple[int, int]]:
    """Yield (start, end) in characters of each piece; None makes the whole text one piece."""
    if pattern is None:
        if text:
            yield 0, len(text)
        return
    stand_in = "".join(map(representative, text))
    end = 0
    for match in compiled(pattern).finditer(stand_in):
        if keep_unmatched and end < match.start():
            yield end, match.start()
        if match.start() < match.end():
            yield match.span()
        end = match.end()
    if keep_unmatched and end < len(text):
        yield end, len(text)


def split(pattern: str | None, text: str, *, keep_unmatched: bool = False) -> list[str]:
    """Return the pieces themselves."""
    return [text[start:end] for start, end in spans(pattern, text, keep_unmatched=keep_unmatched)]
