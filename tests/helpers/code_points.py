"""The code points that tests use: all assigned ones, and some unassigned."""

from __future__ import annotations

import functools
from bisect import bisect_left

from conftest import LONG

NO_CHARACTERS = range(0x33480, 0x110000)
"""Here no version of Unicode has any but those of 0xE0000 to 0xE0FFF; the planes of private use are one property."""
ONE_IN = 1 if LONG else 97


def code_points(start: int = 0) -> list[int]:
    """All code points but surrogates from `start` on; of the planes of nothing one in 97, and the ends of planes."""
    points = _visited()
    return points[bisect_left(points, start) :]


@functools.cache
def _visited() -> list[int]:
    first, end = NO_CHARACTERS.start, NO_CHARACTERS.stop
    some = {*range(-(-first // ONE_IN) * ONE_IN, end, ONE_IN), *range(0xE0000, 0xE1000)}
    some |= {c for plane in range(0x30000, end, 0x10000) for c in range(plane - 4, plane + 3)} | {*range(end - 4, end)}
    return [*range(0xD800), *range(0xE000, first), *sorted(c for c in some if first <= c < end)]
