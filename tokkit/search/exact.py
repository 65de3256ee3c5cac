"""Exact search: for each query the k rows with the greatest products.

Products in float32 (dots.h) tell which rows may be among the first k: those that the rounding of float32 can have
moved by no more than its bound. They are computed again in float64, which decides. So the result depends neither on
the instruction set nor on threads, and equal rows come in their order. benchmarks/bench_search.py times it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import nn
from tokkit._core.nn import dots
from tokkit.errors import OptionError, ShapeError

BLOCK = 128
"""Scores whose greatest one is looked at for a bound: 400,000 rows have 3,125."""
SCORES = 1 << 24
"""Scores in memory at once, 64 MiB: so many queries go together."""
ROWS = 1 << 12
"""Rows in float64 at once: 12 MiB of 384 columns."""
EPS = 2.0**-24
SMALLEST_FLOAT32 = 2.0**-149


class Nearest(NamedTuple):
    """For each of q queries k rows, the best first: `rows` int64 and `scores` float64, both (q, k)."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


def top_k(
    vectors: NDArray[np.float32],
    queries: ArrayLike,
    k: int,
    *,
    norm: float | None = None,
    threads: int | None = None,
) -> Nearest:
    """Return the k rows of `vectors` (n, d) that have the greatest products with each of `queries` (q, d).

    Of vectors of length 1 the product is the cosine. If there are fewer than k rows, all are returned; of equal scores
    the lower row comes first, and rows that hold NaN come last. `norm` is the length of the longest row, if that is
    known. ShapeError for what does not fit, OptionError for a k below 1 or queries that are not finite.

    >>> found = top_k(np.eye(3, dtype=np.float32), [[0.1, 0.7, 0.2]], 2)
    >>> found.rows.tolist(), found.scores.round(2).tolist()
    ([[1, 2]], [[0.7, 0.2]])
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise OptionError(f"k is {k!r}; it must be a number of at least 1")
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32:
        raise TypeError(f"vectors are {getattr(vectors, 'dtype', type(vectors).__name__)}; they must be float32")
    asked = np.ascontiguousarray(queries, dtype=np.float32)
    if vectors.ndim != 2 or asked.ndim != 2 or asked.shape[1] != vectors.shape[1]:
        raise ShapeError(
            f"vectors have shape {vectors.shape} and queries {asked.shape}; they must be (n, d) and (q, d)"
        )
    if not np.isfinite(asked).all():
        raise OptionError("a query has NaN or infinity; queries must be finite")
    if vectors.shape[1] > 1 and vectors.strides[1] != vectors.itemsize:
        vectors = np.ascontiguousarray(vectors)
    n, k = len(vectors), min(int(k), len(vectors))
    longest = largest_norm(vectors) if norm is None else float(norm)
    found = Nearest(np.empty((len(asked), k), dtype=np.int64), np.empty((len(asked), k)))
    if not k:
        return found
    many = max(1, SCORES // n)
    workers = nn.current_threads() if threads is None else threads
    for first in range(0, len(asked), many):
        some = asked[first : first + many]
        scores = np.empty((len(some), n), dtype=np.float32)
        dots(vectors, some, scores, threads=workers)
        for i, query in enumerate(some):
            rows = _possible(scores[i], k, _rounding(query, longest))
            found.rows[first + i], found.scores[first + i] = best_of(vectors, query, rows, k)
    return found


def largest_norm(vectors: NDArray[np.float32]) -> float:
    """Return the length of the longest row without NaN, 0 for none; rounded up, as a bound must be."""
    squares = 0.0
    for first in range(0, len(vectors), ROWS):
        some = vectors[first : first + ROWS].astype(np.float64)
        squares = max(squares, float(np.fmax.reduce(np.einsum("ij,ij->i", some, some), initial=0.0)))
    return float(np.sqrt(squares)) * (1 + 1e-9)


def best_of(
    vectors: NDArray[np.float32], query: NDArray[np.float32], rows: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best k of some rows, in rising order, and their scores: by float64, of equal ones the lower row."""
    by = query.astype(np.float64)
    scores = np.empty(len(rows))
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        # A product in the order of the columns for each row alone: equal rows have equal scores.
        scores[first : first + ROWS] = (vectors[some].astype(np.float64) * by).sum(axis=1)
    order = np.argsort(-scores, kind="stable")[:k]
    return rows[order], scores[order]


def _rounding(query: NDArray[np.float32], longest: float) -> float:
    """Return how far a float32 product may be from the real one: Higham, Accuracy and Stability (2002), (3.5)."""
    d = len(query)
    norm = float(np.sqrt((query.astype(np.float64) ** 2).sum()))
    return 1.01 * d * EPS * longest * norm + d * SMALLEST_FLOAT32


def _possible(scores: NDArray[np.float32], k: int, rounding: float) -> NDArray[np.int64]:
    """Return the rows that may be among the first k, in rising order."""
    n, blocks = len(scores), len(scores) // BLOCK
    if k >= n:
        return np.arange(n)
    if blocks >= k:
        # The k-th of the greatest of all blocks: at least k rows are no worse, and hardly more.
        tops = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
        lowest = np.partition(tops, blocks - k)[blocks - k]
    else:
        lowest = np.partition(scores, n - k)[n - k]
    bound = float(lowest) - 2 * rounding
    if not np.isfinite(bound):  # products beyond float32, or a norm that is
        return np.arange(n)
    found = np.flatnonzero(scores >= np.nextafter(np.float32(bound), np.float32(-np.inf)))
    # A block whose top is NaN counted, and its rows may all be below.
    return found if len(found) >= k else np.arange(n)
