"""The code points that tests visit: each that is assigned, and some of the others."""

from __future__ import annotations

from conftest import LONG

NO_CHARACTERS = range(0x33480, 0x110000)
"""Here no version of Unicode has any but those of 0xE0000 to 0xE0FFF; the planes of private use are one property."""
ONE_IN = 1 if LONG else 97


def code_points(start: int = 0) -> list[int]:
    """All code points but surrogates from `start` on; of the planes of nothing one in 97, and the ends of planes."""
    return [c for c in range(start, 0x110000) if not 0xD800 <= c < 0xE000 and (c not in NO_CHARACTERS or _taken(c))]


def _taken(c: int) -> bool:
    return c % ONE_IN == 0 or 0xE0000 <= c < 0xE1000 or not 2 < c & 0xFFFF < 0xFFFC
