"""Sets of code points as sequences of byte ranges, for automata over UTF-8."""

from __future__ import annotations

import functools

from tokkit.unicode_regex.code_points import CodePoints

Range = tuple[int, int]
LAST_OF_LENGTH = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)
SURROGATES = CodePoints.ranges([(0xD800, 0xDFFF)])


@functools.lru_cache(maxsize=256)
def byte_ranges(points: CodePoints) -> tuple[tuple[Range, ...], ...]:
    """Return the sequences of byte ranges that match the UTF-8 of all members except surrogates.

    Two sequences have the same first range, or disjoint first ranges; and so on for the rests of the former.

    >>> byte_ranges(CodePoints.ranges([(0x61, 0x7A), (0x80, 0x7FF)]))
    (((97, 122),), ((194, 223), (128, 191)))
    """
    bounds = (points - SURROGATES).bounds.tolist()
    made: list[tuple[Range, ...]] = []
    for first, after in zip(bounds[::2], bounds[1::2], strict=True):
        low = first
        for last in LAST_OF_LENGTH:
            high = min(after - 1, last)
            if low <= high:
                made += _split(low, high)
                low = high + 1
    return tuple(made)


def _split(low: int, high: int) -> list[tuple[Range, ...]]:
    """Return the sequences of a range of code points whose UTF-8 has the same length."""
    a, b = chr(low).encode(), chr(high).encode()
    for k in range(1, len(a)):
        tail = 6 * (len(a) - k)  # bits of the last bytes
        if low >> tail != high >> tail:
            # The range is split where the last bytes do not cover all values.
            if low & ((1 << tail) - 1):
                middle = (low | ((1 << tail) - 1)) + 1
                return _split(low, middle - 1) + _split(middle, high)
            if (high + 1) & ((1 << tail) - 1):
                middle = high >> tail << tail
                return _split(low, middle - 1) + _split(middle, high)
            return [tuple(zip(a, b, strict=True))]
    return [tuple(zip(a, b, strict=True))]
