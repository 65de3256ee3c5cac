"""Pearson's and Spearman's correlation of two lists of numbers, with their p-values."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Correlation(NamedTuple):
    """A correlation, −1 to 1, and its p-value: the probability of such a value, or one farther from 0, by chance."""

    statistic: float
    pvalue: float


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Return Pearson's correlation of two lists; NaN for fewer than two numbers, or if all numbers of a list are equal.

    >>> [round(value, 6) for value in pearson([1, 2, 3, 4], [1, 3, 2, 4])]
    [0.8, 0.2]
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (x, y))
    a, b = a - a.mean(), b - b.mean()
    length = math.sqrt(float(a @ a) * float(b @ b))
    if not length:
        return Correlation(math.nan, math.nan)
    r = min(1.0, max(-1.0, float(a @ b) / length))
    return Correlation(r, _p_value(r, len(a)))


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Return Spearman's correlation of two lists, that of their ranks; equal numbers get the mean of their ranks."""
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: ArrayLike) -> NDArray[np.float64]:
    _, where, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[where])


def _p_value(r: float, n: int) -> float:
    """Return the two-sided p-value: that of t = r √((n − 2) / (1 − r²)) with n − 2 degrees of freedom."""
    return _beta(1 - r * r, (n - 2) / 2, 0.5) if n > 2 else math.nan


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges slowly here
        return 1 - _beta(1 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / a
    value = 1.0
    for m in range(50 + int(5 * math.sqrt(a + b)), -1, -1):  # from the innermost pair of terms outwards
        even = (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        value = 1 + odd / (1 + even / value)
    return front / value
