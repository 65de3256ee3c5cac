"""The Unicode version of the `regex` package, which is newer than ours: what differs, and how it is made up for."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import numpy as np

from tokkit._core.text import category_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNASSIGNED = 0x3FFFF
"""A code point that no Unicode version assigns: `regex`, which has a newer version, gets it instead of newer ones."""
CHANGED = {0x295: 0x296}
"""Code points whose category in `regex` differs from Unicode 16.0 → a code point with the old category."""
_CN = 29
"""The number of unassigned code points in the core's table of categories."""
NAMED = re.compile(r"\\[pPdDwWbB]|\[:")
_PARTS = re.compile(
    r"\\[pP]\{[^}]*\}|\\x(?P<x>[0-9A-Fa-f]{2})|\\u(?P<u>[0-9A-Fa-f]{4})|\\U(?P<U>[0-9A-Fa-f]{8})|\\.|(?P<one>.)",
    re.DOTALL,
)


@functools.cache
def newer() -> NDArray[np.int64]:
    """Return the code points that differ between `regex` and Unicode 16.0, in order."""
    import regex

    starts, numbers = category_runs()
    bounds = [*starts.tolist(), 0x110000]
    known = regex.compile(r"\P{Cn}", cache_pattern=False)
    found = [*CHANGED]
    for at in np.flatnonzero(numbers == _CN).tolist():
        run = np.arange(bounds[at], bounds[at + 1], dtype="<u4").tobytes().decode("utf-32-le")
        found += [bounds[at] + match.start() for match in known.finditer(run)]
    return np.unique(found)


@functools.cache
def _blocks() -> NDArray[np.bool_]:
    """Return for each block of 64 code points whether it has newer ones."""
    blocks = np.zeros(0x110000 >> 6, dtype=np.bool_)
    blocks[newer() >> 6] = True
    return blocks


@functools.lru_cache(maxsize=256)
def pinned(pattern: str) -> bool:
    """Return whether a pattern names sets of characters, and contains no character of a newer Unicode itself."""
    if not NAMED.search(pattern):
        return False
    return (pattern.isascii() and "\\u" not in pattern and "\\U" not in pattern) or not _has_newer(pattern)


def _has_newer(pattern: str) -> bool:
    later, points = newer(), list[int]()
    for match in _PARTS.finditer(pattern):
        code = match["x"] or match["u"] or match["U"]
        points.append(int(code, 16) if code else ord(match["one"]) if match["one"] else -1)
    ranges = [(point, point) for point in points]
    ranges += [(a, c) for a, b, c in zip(points, points[1:], points[2:], strict=False) if b == ord("-") and a >= 0]
    return any(np.searchsorted(later, first) < np.searchsorted(later, last, side="right") for first, last in ranges)


def as_of_version(pattern: str, text: str) -> str:
    """Return a text of the same length in which `regex` finds what the pattern matches by Unicode 16.0."""
    if text.isascii() or not pinned(pattern):
        return text
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    later = newer()
    # Few blocks of 64 have any, so the block is looked up first, and then the code point.
    found = np.flatnonzero(_blocks()[points >> 6])
    # searchsorted, because the newer ones are sorted; numpy's isin would take milliseconds per text.
    at = np.minimum(np.searchsorted(later, points[found]), len(later) - 1)
    found = found[later[at] == points[found]]
    if not len(found):
        return text
    changed = points.copy()
    changed[found] = [CHANGED.get(point, UNASSIGNED) for point in points[found].tolist()]
    return changed.tobytes().decode("utf-32-le", "surrogatepass")
