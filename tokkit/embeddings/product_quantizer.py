"""Product quantization of matrices, as in .ftz files: one byte for each group of columns of a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CENTROIDS = 256
"""Centroids of each group of columns; a code is one byte."""
_ITERATIONS = 25
_MAX_POINTS = 256 * CENTROIDS
"""Maximum rows for fitting centroids; from more rows a sample is drawn."""
_ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class ProductQuantizer:
    """The centroids of each group of `group` columns; the last group may be smaller (Jégou et al. 2011).

    >>> quantizer = ProductQuantizer.fit(np.eye(3, dtype=np.float32), 2)
    >>> quantizer.decode(quantizer.encode(np.eye(3, dtype=np.float32))).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    dim: int
    group: int
    centroids: NDArray[np.float32]
    """(dim * CENTROIDS,): those of group g are CENTROIDS contiguous rows from g * group * CENTROIDS on."""

    @property
    def n_groups(self) -> int:
        """The number of bytes of a row."""
        return -(-self.dim // self.group)

    def of_group(self, g: int) -> NDArray[np.float32]:
        """Return the centroids of a group, (CENTROIDS, columns of the group)."""
        size = min(self.group, self.dim - g * self.group)
        start = g * self.group * CENTROIDS
        return self.centroids[start : start + size * CENTROIDS].reshape(CENTROIDS, size)

    @classmethod
    def fit(cls, rows: NDArray[np.float32], group: int, *, seed: int = 0) -> ProductQuantizer:
        """Fit centroids to rows by k-means, one group of columns after the other."""
        random = np.random.default_rng(seed)
        if len(rows) > _MAX_POINTS:
            rows = rows[random.choice(len(rows), _MAX_POINTS, replace=False)]
        dim = rows.shape[1]
        found = [_k_means(rows[:, g : g + group], random) for g in range(0, dim, group)]
        return cls(dim, group, np.concatenate([centroids.ravel() for centroids in found]))

    def encode(self, rows: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the nearest centroid of each group of each row, (n, n_groups)."""
        codes = np.empty((len(rows), self.n_groups), dtype=np.uint8)
        for g in range(self.n_groups):
            centroids = self.of_group(g)
            columns = rows[:, g * self.group : g * self.group + centroids.shape[1]]
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = slice(start, start + _ROWS_AT_ONCE)
                codes[part, g] = _nearest(columns[part], centroids)
        return codes

    def decode(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the rows of codes, (n, dim)."""
        rows = np.empty((len(codes), self.dim), dtype=np.float32)
        for g in range(self.n_groups):
            centroids = self.of_group(g)
            rows[:, g * self.group : g * self.group + centroids.shape[1]] = centroids[codes[:, g]]
        return rows


def _nearest(points: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.asarray(np.argmin((centroids * centroids).sum(1) - 2 * (points @ centroids.T), axis=1))


def _k_means(points: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.float32]:
    """Return CENTROIDS centroids; fewer points than that are repeated."""
    n = len(points)
    chosen = random.permutation(n)[:CENTROIDS] if n > CENTROIDS else np.arange(CENTROIDS) % n
    centroids = points[chosen].astype(np.float32)
    if n <= CENTROIDS:
        return centroids
    before = None
    for _ in range(_ITERATIONS):
        codes = np.concatenate(
            [_nearest(points[start : start + _ROWS_AT_ONCE], centroids) for start in range(0, n, _ROWS_AT_ONCE)]
        )
        if before is not None and np.array_equal(codes, before):
            break
        before = codes
        counts = np.bincount(codes, minlength=CENTROIDS)
        sums = [np.bincount(codes, weights=column, minlength=CENTROIDS) for column in points.T]
        filled = counts > 0
        centroids[filled] = (np.stack(sums, axis=1)[filled] / counts[filled, None]).astype(np.float32)
        if not filled.all():  # a centroid without points takes a point of the largest cluster
            empty = np.flatnonzero(~filled)
            centroids[empty] = points[random.choice(n, len(empty), p=counts[codes] / counts[codes].sum())]
    return centroids


@dataclass(frozen=True, eq=False)
class QuantizedMatrix:
    """Rows as codes of a quantizer; with `norms` the lengths of rows are codes of a quantizer with one column."""

    quantizer: ProductQuantizer
    codes: NDArray[np.uint8]
    """(n, n_groups)"""
    norm_quantizer: ProductQuantizer | None = None
    norm_codes: NDArray[np.uint8] | None = None
    """(n,)"""

    @classmethod
    def of(cls, matrix: NDArray[np.float32], group: int, *, norms: bool = False, seed: int = 0) -> QuantizedMatrix:
        """Quantize a matrix."""
        norm_quantizer = norm_codes = None
        if norms:
            lengths = np.linalg.norm(matrix, axis=1).astype(np.float32)[:, None]
            norm_quantizer = ProductQuantizer.fit(lengths, 1, seed=seed)
            norm_codes = norm_quantizer.encode(lengths)[:, 0]
            matrix = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        quantizer = ProductQuantizer.fit(matrix, group, seed=seed)
        return cls(quantizer, quantizer.encode(matrix), norm_quantizer, norm_codes)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return len(self.codes), self.quantizer.dim

    def take(self, rows: NDArray[np.integer] | slice) -> NDArray[np.float32]:
        """Return some rows as floats."""
        made = self.quantizer.decode(self.codes[rows])
        if self.norm_quantizer is not None and self.norm_codes is not None:
            made *= self.norm_quantizer.decode(self.norm_codes[rows][:, None])
        return made
