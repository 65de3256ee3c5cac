"""Text and any pattern of the `regex` package in, UTF-8 and the ends of its pieces out: the general, slow way."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import PatternError

if TYPE_CHECKING:
    import regex

SECONDS_PER_MEGABYTE = 20.0
"""How long a pattern may take: some hundred times what a sound one does. At least two seconds."""


@functools.lru_cache(maxsize=64)
def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Compile a split pattern; PatternError where `regex` refuses it."""
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise PatternError(f"the pattern {pattern!r} does not compile: {error}") from None


def spans(pattern: str, text: str, *, keep_unmatched: bool) -> list[tuple[int, int]]:
    """Return (start, end) of each piece, in characters. An empty match cuts nothing out.

    Text between matches is dropped, or kept as pieces of its own. A pattern that takes too long: PatternError.
    """
    timeout = 2.0 + SECONDS_PER_MEGABYTE * len(text) / 1e6
    found: list[tuple[int, int]] = []
    last = 0
    try:
        for match in compile_pattern(pattern).finditer(text, timeout=timeout):
            start, end = match.span()
            if keep_unmatched and start > last:
                found.append((last, start))
            if end > start:
                found.append((start, end))
            last = end
    except TimeoutError:
        raise PatternError(f"the pattern {pattern!r} took over {timeout:.0f} s on {len(text)} characters") from None
    if keep_unmatched and last < len(text):
        found.append((last, len(text)))
    return found


def split(pattern: str, text: str, *, keep_unmatched: bool) -> tuple[bytes, NDArray[np.int64]]:
    """Return the pieces' UTF-8, joined, and where each ends in it (int64)."""
    pieces = [text[a:b].encode() for a, b in spans(pattern, text, keep_unmatched=keep_unmatched)]
    return b"".join(pieces), np.cumsum([len(p) for p in pieces], dtype=np.int64)
