"""The split patterns of published encodings by name, and the scanner that runs each: csrc/split/families.def has them.

Several patterns may share a scanner: tokenizers' ByteLevel ("gpt2") has the pattern of r50k without possessive
quantifiers, which has the same matches.
"""

from __future__ import annotations

import re

from tokkit._core import split_families
from tokkit.errors import OptionError

NAMES = {name: pattern for name, pattern, _ in split_families.patterns()}
"""Names that `pattern=` and `--split` accept, besides a pattern and "none"."""

WHOLE = 0
SCANNERS: dict[str | None, int] = {None: WHOLE, **{pattern: n for _, pattern, n in split_families.patterns()}}
"""Pattern → number of its scanner in the core; None (no split) makes the whole text one pretoken."""

CUTTABLE = frozenset(NAMES.values())
"""Patterns that split text at every split point; csrc/split/split_points.c has the proof, which new ones need too."""

_NUMBERED = {number: pattern for _, pattern, number in split_families.patterns()}


def in_files(where: str) -> dict[str, tuple[str, ...]]:
    """Return pattern → its texts in files, for the patterns whose own text is not used there (see the table)."""
    found: dict[str, tuple[str, ...]] = {}
    for place, text, number in split_families.in_files():
        if place == where:
            found[_NUMBERED[number]] = (*found.get(_NUMBERED[number], ()), text)
    return found


BYTE_LEVEL, R50K, CL100K, O200K, LLAMA3 = (NAMES[name] for name in ("gpt2", "r50k", "cl100k", "o200k", "llama3"))
QWEN2, QWEN3_5, TEKKEN, KIMI_K2 = (NAMES[name] for name in ("qwen2", "qwen3.5", "tekken", "kimi-k2"))
KIMI_K2_UNMARKED = KIMI_K2.removeprefix("(?V1)")
"""The published pattern, for engines in which && is always the intersection of sets."""
DEEPSEEK_V3 = NAMES["deepseek-v3"]
DEEPSEEK_V3_IN_TURN = in_files("in turn")[DEEPSEEK_V3]
"""The published patterns: each splits the result of the one before, including its matches; other text is kept."""


def resolve(pattern: str | None) -> str | None:
    """Return the pattern that a name stands for; None and "none" mean no split; any other text is a pattern.

    OptionError for a bare word that is not a name, because as a pattern it would match only itself.
    """
    if pattern is None or pattern == "none":
        return None
    if pattern not in NAMES and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[0-9]+)?", pattern):
        import difflib  # only for this message

        near = difflib.get_close_matches(pattern, NAMES, n=3, cutoff=0.4)
        raise OptionError(
            f"pattern is {pattern!r}, an unknown name{': ' + ', '.join(near) + '?' if near else ''}. Known are "
            f'{", ".join(NAMES)} and "none"; for a regular expression that is one word, write "(?:{pattern})"'
        )
    return NAMES.get(pattern, pattern)
