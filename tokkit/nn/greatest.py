"""Finds the largest of many numbers without sorting all of them: logits of large vocabularies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]
BLOCK = 128
"""Block size: the maximum of each block gives a bound for the largest values."""


def greatest(values: Values, k: int) -> NDArray[np.int64]:
    """Return the indices of the k largest values, the largest first, of equal ones the first; none is -inf.

    >>> greatest(np.array([1, 5, -np.inf, 7], dtype=np.float32), 2).tolist()
    [3, 1]
    """
    found = _at_least(values, _bound(values, k))
    return found[np.argsort(-values[found], kind="stable")][:k]


def top(values: Values, k: int) -> NDArray[np.int64]:
    """Return the indices of the k largest values and of all equal to the last of them, in order; none is -inf."""
    found = _at_least(values, _bound(values, k))
    if len(found) > k:
        found = found[values[found] >= np.partition(values[found], -k)[-k]]
    return found


def _bound(values: Values, k: int) -> Any:
    """Return a number that at least k values reach, but not many more."""
    whole = len(values) // BLOCK
    if k >= len(values):
        return values.dtype.type(-np.inf)
    if k >= whole:
        return np.partition(values, -k)[-k]
    return np.partition(values[: whole * BLOCK].reshape(whole, BLOCK).max(1), whole - k)[whole - k]


def _at_least(values: Values, bound: Any) -> NDArray[np.int64]:
    return np.flatnonzero(values >= bound if bound > -np.inf else values > -np.inf)
