"""Dense vectors from sparse counts: truncated SVD, and latent semantic analysis (LSA)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import as_float, as_int
from tokkit.embeddings.keyed_vectors import KeyedVectors
from tokkit.embeddings.sparse import SparseMatrix
from tokkit.errors import OptionError

METHODS = ("randomized", "arpack")
OVERSAMPLING = 10
"""Oversampling: additional dimensions, as recommended by Halko et al."""


class TruncatedSVD(NamedTuple):
    """An approximation (u · s) @ vt of a matrix: u (rows, k) and vt (k, columns) are orthonormal, s is descending."""

    u: NDArray[np.float32]
    s: NDArray[np.float32]
    vt: NDArray[np.float32]


def truncated_svd(
    matrix: SparseMatrix, k: int, *, method: str = "randomized", iterations: int = 4, seed: int = 0
) -> TruncatedSVD:
    """Return the k largest singular values of a matrix and their vectors.

    "randomized" is the method of Halko, Martinsson and Tropp (2011) with `iterations` power iterations, in float32;
    more iterations are more accurate if singular values decay slowly. "arpack" is exact and slower, and needs scipy.
    Signs are chosen so that the largest absolute value of each column of u is positive. OptionError if k is too large
    for the matrix, or a number is not finite.
    """
    if method not in METHODS:
        raise OptionError(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
    k = as_int("k", k, minimum=1)
    most = min(matrix.shape) - (method == "arpack")
    if k > most:
        rows, columns = matrix.shape
        raise OptionError(f"k is {k}; with {method} a matrix of {rows:,} × {columns:,} has at most {most:,} dimensions")
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        raise OptionError(f"the matrix has {float(matrix.data[bad[0]])!r}; all numbers must be finite")
    random = np.random.default_rng(as_int("seed", seed, minimum=0))
    if method == "arpack":
        u, s, vt = _arpack(matrix, k, random)
    else:
        u, s, vt = _randomized(matrix, k, as_int("iterations", iterations, minimum=0), random)
    signs = np.sign(u[np.argmax(np.abs(u), axis=0), np.arange(k)])
    signs[signs == 0] = 1
    return TruncatedSVD(u * signs, s, vt * signs[:, None])


def lsa(
    matrix: SparseMatrix,
    vector_size: int = 100,
    *,
    of: str = "rows",
    power: float = 1.0,
    method: str = "randomized",
    iterations: int = 4,
    seed: int = 0,
) -> KeyedVectors:
    """Return vectors for the named rows of a matrix, u · s^power, or for its named columns, v · s^power.

    In a PPMI matrix the rows are words, in a TF-IDF matrix the columns. `power` 1 keeps the distances of the matrix;
    0.5 and 0 often give better neighbours (Levy, Goldberg and Dagan 2015). The other options are those of
    `truncated_svd`. OptionError if rows or columns have no names.
    """
    if of not in ("rows", "columns"):
        raise OptionError(f"of is {of!r}; it must be rows or columns")
    names = matrix.row_names if of == "rows" else matrix.column_names
    if names is None:
        raise OptionError(f"the {of} of this matrix have no names; truncated_svd returns their vectors as an array")
    power = as_float("power", power)
    u, s, vt = truncated_svd(
        matrix, as_int("vector_size", vector_size, minimum=1), method=method, iterations=iterations, seed=seed
    )
    vectors = (u if of == "rows" else vt.T) * np.where(s > 0, s, 1) ** power
    return KeyedVectors.of(names, np.ascontiguousarray(vectors, dtype=np.float32))


def _randomized(
    matrix: SparseMatrix, k: int, iterations: int, random: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    size = min(k + OVERSAMPLING, *matrix.shape)
    q = random.standard_normal((matrix.shape[1], size), dtype=np.float32)
    for _ in range(iterations):
        q = np.linalg.qr(matrix.times(q))[0]
        q = np.linalg.qr(matrix.times(q, transposed=True))[0]
    q = np.linalg.qr(matrix.times(q))[0]
    u, s, vt = np.linalg.svd(matrix.times(q, transposed=True).T, full_matrices=False)
    return (q @ u)[:, :k], s[:k], vt[:k]


def _arpack(
    matrix: SparseMatrix, k: int, random: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    try:
        from scipy.sparse.linalg import svds
    except ImportError:
        raise OptionError("method arpack needs scipy (pip install 'pytokkit[counts]')") from None
    sparse = matrix.to_scipy().astype(np.float64)
    u, s, vt = svds(sparse, k, v0=random.standard_normal(min(matrix.shape)))
    falling = np.argsort(-s)
    return u[:, falling].astype(np.float32), s[falling].astype(np.float32), vt[falling].astype(np.float32)
