"""Exact search: finds for each query the k rows with the highest dot products.

Products in float32 (dots.h) select the rows that may be among the first k, given the bound on float32's rounding error.
These are computed again in float64, which decides. So the result depends neither on the instruction set nor on the
number of threads, and equal rows keep their order. benchmarks/bench_search.py times it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import nn
from tokkit._core.nn.rows import dots
from tokkit.errors import OptionError, ShapeError

BLOCK = 128
"""Block of scores whose maximum is used for the bound: 400,000 rows have 3,125 blocks."""
SCORES = 1 << 24
"""Maximum number of scores in memory, 64 MiB; it limits the number of queries in a batch."""
ROWS = 1 << 12
"""Number of rows that are converted to float64 at a time: 12 MiB for 384 dimensions."""
EPS = 2.0**-24
SMALLEST_FLOAT32 = 2.0**-149


class Nearest(NamedTuple):
    """The k best rows for each of q queries, the best first: `rows` int64 and `scores` float64, both (q, k)."""

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
    """Return the k rows of `vectors` (n, d) with the highest dot products with each of `queries` (q, d).

    For unit vectors, the product is the cosine. With `lengths` (n,), the norms of the rows, each product is divided by
    its row's norm: for unit queries this is the cosine, and rows of norm 0 come last. If there are fewer than k rows,
    all are returned; ties go to the lower row, and rows with NaN come last. `norm` is the maximum norm of the rows, if
    known. ShapeError if shapes do not match, OptionError for k below 1 or queries that are not finite.

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
        # A normalized row has length 1 up to rounding; for tiny rows, float32 has no more precision.
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
    """Return the maximum norm of rows without NaN (0 without rows), rounded up, because it is used as a bound."""
    squares = 0.0
    for first in range(0, len(vectors), ROWS):
        some = vectors[first : first + ROWS].astype(np.float64)
        squares = max(squares, float(np.fmax.reduce(np.einsum("ij,ij->i", some, some), initial=0.0)))
    return float(np.sqrt(squares)) * (1 + 1e-9)


def best_of(
    vectors: NDArray[np.float32], query: NDArray[np.float32], rows: NDArray[np.int64], k: int, *, cosine: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best k of some ascending rows, and their scores, in float64; ties go to the lower row.

    `cosine` divides each product by the norm of its row.
    """
    by = query.astype(np.float64)
    scores = np.empty(len(rows))
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS]
        # Each row's product is summed in the order of the columns, so equal rows have equal scores.
        wide = vectors[some].astype(np.float64)
        scores[first : first + ROWS] = (wide * by).sum(axis=1)
        if cosine:
            with np.errstate(invalid="ignore"):
                scores[first : first + ROWS] /= np.sqrt((wide * wide).sum(axis=1))
    order = np.argsort(-scores, kind="stable")[:k]
    return rows[order], scores[order]


def _rounding(query: NDArray[np.float32], longest: float, tiny: float = 1.0) -> float:
    """Return the maximum error of a float32 product: Higham, Accuracy and Stability (2002), (3.5).

    `tiny` is the maximum factor of a product. Two additional roundings are those of a division and its divisor.
    """
    d = len(query)
    norm = float(np.sqrt((query.astype(np.float64) ** 2).sum()))
    return 1.01 * (d + 4) * EPS * longest * norm + d * SMALLEST_FLOAT32 * tiny * max(1.0, norm)


def _possible(scores: NDArray[np.float32], k: int, rounding: float) -> NDArray[np.int64]:
    """Return the rows that may be among the first k, in ascending order."""
    n, blocks = len(scores), len(scores) // BLOCK
    if k >= n:
        return np.arange(n)
    if blocks >= k:
        # The k-th highest maximum of all blocks: at least k rows, and not many more, have such a score.
        tops = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
        lowest = np.partition(tops, blocks - k)[blocks - k]
    else:
        lowest = np.partition(scores, n - k)[n - k]
    bound = float(lowest) - 2 * rounding
    if not np.isfinite(bound):  # products or a norm that overflow float32
        return np.arange(n)
    found = np.flatnonzero(scores >= np.nextafter(np.float32(bound), np.float32(-np.inf)))
    # A block with the maximum NaN was counted, although all its rows may be below.
    return found if len(found) >= k else np.arange(n)
