"""Splits text with the `regex` package: slow, but for any pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokkit.unicode_regex.matching import matches

if TYPE_CHECKING:
    from numpy.typing import NDArray


def spans(pattern: str, text: str, *, keep_unmatched: bool) -> list[tuple[int, int]]:
    """Return (start, end) of each pretoken, in characters. Empty matches have no effect.

    Text between matches is dropped, or kept as pretokens. PatternError for a pattern that takes too long.
    """
    found: list[tuple[int, int]] = []
    last = 0
    for start, end in matches(pattern, text):
        if keep_unmatched and start > last:
            found.append((last, start))
        if end > start:
            found.append((start, end))
        last = end
    if keep_unmatched and last < len(text):
        found.append((last, len(text)))
    return found


def split(pattern: str, text: str, *, keep_unmatched: bool) -> tuple[bytes, NDArray[np.int64]]:
    """Return the UTF-8 of all pretokens, joined, and the end of each (int64)."""
    pieces = [text[a:b].encode() for a, b in spans(pattern, text, keep_unmatched=keep_unmatched)]
    return b"".join(pieces), np.cumsum([len(p) for p in pieces], dtype=np.int64)
