"""`Embedding`: the table of token vectors, ids → vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.nn import rows as kernels
from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, check_overlap, current_threads, floats, ids_of, initial, output, rows_of


class Embedding:
    """A table (vocab_size, dim): row i belongs to id i. Another number of axes raises ShapeError.

    >>> Embedding(np.eye(3)).weight.shape
    (3, 3)
    """

    def __init__(self, weight: ArrayLike) -> None:
        self.weight = np.ascontiguousarray(floats(weight, "weight"))
        if self.weight.ndim != 2:
            raise ShapeError(f"weight has shape {self.weight.shape}; it must be (vocab_size, dim)")

    @classmethod
    def random(cls, vocab_size: int, dim: int, *, seed: int, init: str = "normal", std: float = 0.02) -> Embedding:
        """Return a table (vocab_size, dim), normal with deviation `std` or Xavier's uniform: see `initial`.

        Negative sizes raise OptionError.
        """
        vocab_size, dim = as_int("vocab_size", vocab_size, minimum=0), as_int("dim", dim, minimum=0)
        return cls(initial({"weight": (vocab_size, dim)}, seed=seed, init=init, std=std)["weight"])

    @classmethod
    def from_vectors(
        cls, vectors: Mapping[str, Any], tokens: Mapping[str, int], *, vocab_size: int, seed: int, std: float = 0.02
    ) -> Embedding:
        """Return a table (vocab_size, dim) with the given vectors (token → (dim)) at the ids of `tokens`.

        Rows of ids without a vector are random. Raises ShapeError for vectors of different shapes, IndexError for ids
        outside the table, OptionError if `vectors` is empty.
        """
        if not vectors:
            raise OptionError("vectors is empty; it must have at least one vector")
        name, first = next(iter(vectors.items()))
        if np.ndim(first) != 1:
            raise ShapeError(f"the vector of {name!r} has shape {np.shape(first)}; it must be (dim,), the same for all")
        dim, vocab_size = len(first), as_int("vocab_size", vocab_size, minimum=0)
        made = cls.random(vocab_size, dim, seed=seed, std=std)
        for token, i in tokens.items():
            if token not in vectors:
                continue
            vector = floats(vectors[token], f"the vector of {token!r}")
            if vector.shape != (dim,):
                raise ShapeError(f"the vector of {token!r} has shape {vector.shape}; others have ({dim},)")
            if not 0 <= as_int(f"the id of {token!r}", i) < vocab_size:
                raise IndexError(f"the id of {token!r} is {i}, outside a table of {vocab_size} rows")
            made.weight[i] = vector
        return made

    def __call__(self, ids: ArrayLike, *, out: Floats | None = None) -> Floats:
        """Return the rows (…, dim) of ids (…); an id outside the table raises IndexError, and names it.

        An `out` that overlaps the table raises ShapeError.
        """
        where = ids_of(ids)
        result = output(out, (*where.shape, self.weight.shape[1]))
        flat, dim = np.ascontiguousarray(where.reshape(-1)), self.weight.shape[1]
        # Without columns the number of rows cannot be told from the size: `rows_of` would say none.
        rows = rows_of(result, dim) if dim else result.reshape(len(flat), dim)
        if out is not None:
            check_overlap(rows, in_place={}, apart={"weight": self.weight})
        kernels.gather(self.weight, flat, rows, threads=current_threads())
        return result


class Table(Protocol):
    """A table of tokens that is not stored as an array."""

    shape: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of rows."""

    def rows(self, ids: NDArray[np.int64]) -> Floats:
        """Return some rows as float32."""

    def float32(self) -> Floats:
        """Return all rows as float32."""


def looked_up(table: NDArray[Any] | Table, ids: NDArray[np.int64]) -> Floats:
    """Return the rows (n, dim) of ids (n) as float32, of a table of float32, float16, float64 or bfloat16 (as uint16).

    Only these rows are read, of a mapped file too. An id outside the table raises IndexError, and names it.
    """
    n = len(table)
    if ids.size and not 0 <= ids.min() <= ids.max() < n:
        bad = int(ids.max()) if ids.max() >= n else int(ids.min())
        raise IndexError(f"the id {bad} is outside an embedding table of {n} rows")
    if not isinstance(table, np.ndarray):
        return table.rows(ids)
    if table.dtype == np.uint16:  # bfloat16: the upper halves of float32
        return (table[ids].astype(np.uint32) << 16).view(np.float32)
    if table.dtype != np.float32:
        return table[ids].astype(np.float32)
    made = np.empty((len(ids), table.shape[1]), dtype=np.float32)
    kernels.gather(table, ids, made, threads=current_threads())
    return made
