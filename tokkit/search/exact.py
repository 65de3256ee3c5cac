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
    lengths: NDArray[np.float32] | None = None,
    threads: int | None = None,
) -> Nearest:
    """Return the k rows of `vectors` (n, d) that have the greatest products with each of `queries` (q, d).

    Of vectors of length 1 the product is the cosine. With `lengths` (n,), those of the rows, each product is divided by
    its row's: for queries of length 1 that is the cosine, and rows of length 0 come last. If there are fewer than k
    rows, all are returned; of equal scores the lower row comes first, and rows that hold NaN come last. `norm` is the
    length of the longest row, if that is known. ShapeError for what does not fit, OptionError for a k below 1 or
    queries that are not finite.

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
    if lengths is not None:
        if lengths.shape != (n,):
            raise ShapeError(f"lengths have shape {lengths.shape}; there are {n} rows")
        usable, beyond = lengths > 0, np.isinf(lengths)
        # What is divided by its length is 1 long but for the rounding of that; float32 keeps no more of tiny rows.
        longest = 1 + 4 * EPS
        tiny = 1 / float(np.minimum.reduce(lengths, where=usable, initial=1.0))
    else:
        longest, tiny = largest_norm(vectors) if norm is None else float(norm), 1.0
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
            if lengths is not None:
                np.divide(scores[i], lengths, out=scores[i], where=usable)
                scores[i][~usable] = -np.inf
                scores[i][beyond] = np.inf  # float64 decides
            rows = _possible(scores[i], k, _rounding(query, longest, tiny))
            found.rows[first + i], found.scores[first + i] = best_of(
                vectors, query, rows, k, cosine=lengths is not None
            )
    return found


def largest_norm(vectors: NDArray[np.float32]) -> float:
    """Return the length of the longest row without NaN, 0 for none; rounded up, as a bound must be."""
    squares = 0.0
    for first in range(0, len(vectors), ROWS):
        some = vectors[first : first + ROWS].astype(np.float64)
        squares = max(squares, float(np.fmax.reduce(np.einsum("ij,ij->i", some, some), initial=0.0)))
    return float(np.sqrt(squares)) * (1 + 1e-9)


def best_of(
    vectors: NDArray[np.float32], query: NDArray[np.float32], rows: NDArray[np.int64], k: int, *, cosine: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best k of some rows, in rising order, and their scores: by float64, of equal ones the lower row.

    `cosine` divides each product by the length of its row.
    """
    by = query.astype(np.float64)
    scores = np.empty(len(rows))
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        # A product in the order of the columns for each row alone: equal rows have equal scores.
        wide = vectors[some].astype(np.float64)
        scores[first : first + ROWS] = (wide * by).sum(axis=1)
        if cosine:
            with np.errstate(invalid="ignore"):
                scores[first : first + ROWS] /= np.sqrt((wide * wide).sum(axis=1))
    order = np.argsort(-scores, kind="stable")[:k]
    return rows[order], scores[order]


def _rounding(query: NDArray[np.float32], longest: float, tiny: float = 1.0) -> float:
    """Return how far a float32 product may be from the real one: Higham, Accuracy and Stability (2002), (3.5).

    `tiny` is what a product is multiplied by at most. Two more roundings are those of a division and its divisor.
    """
    d = len(query)
    norm = float(np.sqrt((query.astype(np.float64) ** 2).sum()))
    return 1.01 * (d + 4) * EPS * longest * norm + d * SMALLEST_FLOAT32 * tiny * max(1.0, norm)


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
