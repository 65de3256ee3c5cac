"""Splits text with the `regex` package: slow, but for any pattern."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import numpy as np

from tokkit.unicode_regex import cost_limits
from tokkit.unicode_regex.matching import compiled

if TYPE_CHECKING:
    import regex
    from numpy.typing import NDArray

# An escape, the name of a POSIX class, the start of a class (a bracket right after it is a member), or any character.
_PARTS = re.compile(r"\\.|\[:\^?\w+:\]|\[\^?\]?|.|\\", re.DOTALL)


@functools.lru_cache(maxsize=64)
def compile_regex(pattern: str) -> regex.Pattern[str]:
    """Compile a split pattern, with `$` replaced as in `end_only`; PatternError if `regex` refuses it."""
    compiled(pattern)  # so that error messages quote the user's pattern
    return compiled(end_only(pattern))


def end_only(pattern: str) -> str:
    r"""Return the pattern with `\Z` for each `$`: only the end of the text, as in tiktoken, not before a last newline.

    With (?m), `$` is the end of a line, and is not replaced.

    >>> end_only(r"\s+$|[$]|\$")
    '\\s+\\Z|[$]|\\$'
    """
    if re.search(r"\(\?[A-Za-z0-9]*m", pattern):
        return pattern
    nested = re.search(r"\(\?[A-Za-z0-9]*V1", pattern)
    parts, depth = [], 0
    for part in _PARTS.findall(pattern):
        if part[0] == "[" and (not depth or nested) and part[1:2] != ":":
            depth += 1
        elif part in ("]", "[]", "[^]") and depth:
            depth -= 1
        parts.append(r"\Z" if part == "$" and not depth else part)
    return "".join(parts)


def spans(pattern: str, text: str, *, keep_unmatched: bool) -> list[tuple[int, int]]:
    """Return (start, end) of each pretoken, in characters. Empty matches have no effect.

    Text between matches is dropped, or kept as pretokens. PatternError for a pattern that takes too long.
    """
    text = _as_of_version(pattern, text)
    found: list[tuple[int, int]] = []
    last = 0
    with cost_limits.MatchTimer(pattern, len(text)) as running:
        for match in compile_regex(pattern).finditer(text, timeout=running.remaining()):
            start, end = match.span()
            if keep_unmatched and start > last:
                found.append((last, start))
            if end > start:
                found.append((start, end))
            last = end
    if keep_unmatched and last < len(text):
        found.append((last, len(text)))
    return found


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each match, in characters, as tokenizers gets them from Oniguruma.

    Empty matches count, but not right after another match; after one, the search continues at the next character.
    PatternError for a pattern that takes too long.

    >>> matches("a*", "baac"), matches("|a", "ba")
    ([(0, 0), (1, 3), (4, 4)], [(0, 0), (1, 1), (2, 2)])
    """
    search = compile_regex(pattern).search
    text = _as_of_version(pattern, text)
    found: list[tuple[int, int]] = []
    at, last = 0, -1
    with cost_limits.MatchTimer(pattern, len(text)) as running:
        while at <= len(text):
            match = search(text, at, timeout=running.remaining())
            if match is None:
                break
            start, end = match.span()
            if start == end == last:
                at += 1
            else:
                found.append((start, end))
                at = last = end
    return found


def _as_of_version(pattern: str, text: str) -> str:
    from tokkit.unicode_regex.matching import as_of_version  # not needed if the C core splits the text

    return as_of_version(pattern, text)


def split(pattern: str, text: str, *, keep_unmatched: bool) -> tuple[bytes, NDArray[np.int64]]:
    """Return the UTF-8 of all pretokens, joined, and the end of each (int64)."""
    pieces = [text[a:b].encode() for a, b in spans(pattern, text, keep_unmatched=keep_unmatched)]
    return b"".join(pieces), np.cumsum([len(p) for p in pieces], dtype=np.int64)
