"""Sparse matrices of counts: the class of one-hot, co-occurrence, PMI and TF-IDF matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.embed.cooccurrence import sparse_product
from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError, VocabError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_DENSE_BYTES = 1 << 30
"""The default maximum bytes of `to_dense`."""
BLOCK_ENTRIES = 1 << 20
"""Numbers copied at a time in a computation."""


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A sparse matrix in CSR format: three arrays with the nonzero numbers.

    Row i has `data[indptr[i]:indptr[i + 1]]` in the columns `indices[indptr[i]:indptr[i + 1]]`, in ascending order.
    Rows and columns may have names (words, terms), which can be used as indices.

    >>> matrix = one_hot([2, 0], 3)
    >>> matrix.to_dense().tolist(), matrix[0, 2], matrix.nnz
    ([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], 1.0, 2)
    """

    data: NDArray[Any]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    shape: tuple[int, int]
    row_names: tuple[str, ...] | None = None
    column_names: tuple[str, ...] | None = None

    @property
    def nnz(self) -> int:
        """Return the number of stored numbers."""
        return len(self.data)

    @cached_property
    def _row_ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.row_names or ())}

    @cached_property
    def _column_ids(self) -> dict[str, int]:
        if self.column_names is self.row_names:
            return self._row_ids
        return {name: i for i, name in enumerate(self.column_names or ())}

    def __getitem__(self, place: tuple[int | str, int | str]) -> float:
        """Return the number at (row, column), each an index or a name; VocabError for an unknown name."""
        row = _number(place[0], self._row_ids, self.shape[0], "row")
        column = _number(place[1], self._column_ids, self.shape[1], "column")
        indices, values = self.row(row)
        at = int(np.searchsorted(indices, column))
        return float(values[at]) if at < len(indices) and indices[at] == column else 0.0

    def row(self, row: int | str) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the columns and the values of a row."""
        i = _number(row, self._row_ids, self.shape[0], "row")
        part = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
        return self.indices[part], self.data[part]

    def row_numbers(self) -> NDArray[np.int32]:
        """Return the row of each stored number."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr))

    def sum(self, axis: int | None = None) -> Any:
        """Return the sum of all numbers, of each column (axis 0) or of each row (axis 1)."""
        if axis is None:
            return self.data.sum(dtype=np.float64)
        numbers, size = (self.indices, self.shape[1]) if axis == 0 else (self.row_numbers(), self.shape[0])
        return np.bincount(numbers, self.data, size)

    def with_data(self, data: NDArray[Any]) -> SparseMatrix:
        """Return a matrix with other numbers in the same places; zeros are dropped."""
        if data.shape != self.data.shape:
            raise ShapeError(f"there are {len(data):,} numbers for {self.nnz:,} places")
        kept = data != 0
        if kept.all():
            return replace(self, data=data)
        ends = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return replace(self, data=data[kept], indices=self.indices[kept], indptr=ends)

    def to_dense(self, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[Any]:
        """Return the dense matrix; OptionError if it needs more than `max_bytes`."""
        size = self.shape[0] * self.shape[1] * self.data.itemsize
        if size > max_bytes:
            rows, columns = self.shape
            raise OptionError(
                f"{rows:,} × {columns:,} numbers need {size:,} bytes, but max_bytes is {max_bytes:,}; keep the matrix "
                "sparse, or increase max_bytes"
            )
        made = np.zeros(self.shape, self.data.dtype)
        made[self.row_numbers(), self.indices] = self.data
        return made

    def to_scipy(self) -> csr_array[Any]:
        """Return a `scipy.sparse.csr_array` of the same arrays; OptionError if scipy is not installed."""
        try:
            from scipy.sparse import csr_array
        except ImportError:
            raise OptionError("to_scipy needs scipy (pip install 'pytokkit[counts]')") from None
        return csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def times(self, other: ArrayLike, *, transposed: bool = False) -> NDArray[np.float32]:
        """Return the product with a dense matrix (columns, k), or of the transpose with one of (rows, k), in float32.

        ShapeError if they do not fit.
        """
        x = np.ascontiguousarray(other, dtype=np.float32)
        need, made = self.shape if transposed else self.shape[::-1]
        if x.ndim != 2 or x.shape[0] != need:
            raise ShapeError(f"the matrix has shape {x.shape}; it must have {need:,} rows")
        y = np.zeros((made, x.shape[1]), dtype=np.float32)
        for rows in self.row_blocks():
            part = slice(int(self.indptr[rows.start]), int(self.indptr[rows.stop]))
            values = np.ascontiguousarray(self.data[part], dtype=np.float32)
            ins, outs = (x[rows], y) if transposed else (x, y[rows])
            starts = self.indptr[rows.start : rows.stop + 1]
            sparse_product(starts, self.indices[part], values, ins, outs, transposed=transposed)
        return y

    def row_blocks(self, entries: int = BLOCK_ENTRIES) -> Iterator[slice]:
        """Yield ranges of consecutive rows with about `entries` numbers each, at least one row."""
        begin = 0
        while begin < self.shape[0]:
            end = int(np.searchsorted(self.indptr, self.indptr[begin] + entries, side="right")) - 1
            end = min(max(end, begin + 1), self.shape[0])
            yield slice(begin, end)
            begin = end

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]:,} × {self.shape[1]:,}, {self.nnz:,} stored)"


def one_hot(ids: ArrayLike, size: int) -> SparseMatrix:
    """Return a matrix with one row of length `size` per id, with a 1 at the id; OptionError for an invalid id.

    >>> one_hot([1, 0], 2).to_dense().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    size = as_int("size", size, minimum=1)
    numbers = np.asarray(ids)
    if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
        raise OptionError(f"ids is {numbers.ndim}-dimensional, of {numbers.dtype}; it must be a sequence of ints")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
        bad = int(numbers[(numbers < 0) | (numbers >= size)][0])
        raise OptionError(f"ids contains {bad}; with size {size:,} ids must be from 0 to {size - 1:,}")
    n = len(numbers)
    return SparseMatrix(np.ones(n, np.float32), numbers.astype(np.int32), np.arange(n + 1, dtype=np.int64), (n, size))


def _number(given: int | str, ids: dict[str, int], size: int, what: str) -> int:
    """Return the index of a row or column given by index or name."""
    if isinstance(given, str):
        if given not in ids:
            raise VocabError(f"there is no {what} named {given!r}")
        return ids[given]
    if not 0 <= given < size:
        raise VocabError(f"there is no {what} {given}; the last is {size - 1:,}")
    return int(given)
