"""Weighted sums of counts by exact fractions, as documented in tokkit.trainers.Mixture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction


def weighted(sources: Mapping[str, Mapping[bytes, int]], weights: Mapping[str, Fraction]) -> dict[bytes, int]:
    """Return each word's sum of weighted counts, rounded to the nearest integer, halves up; none of 0."""
    sums: dict[bytes, Fraction] = {}
    for name, counts in sources.items():
        for word, n in counts.items():
            sums[word] = sums.get(word, Fraction(0)) + n * weights.get(name, Fraction(1))
    rounded = {word: math.floor(n + Fraction(1, 2)) for word, n in sums.items()}
    return {word: n for word, n in rounded.items() if n}
