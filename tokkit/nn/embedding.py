"""Token ids in, vectors out: the table between a tokenizer and a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit._core import rows as kernels
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, current_threads, floats, ids_of, initial, output, rows_of


class Embedding:
    """A table (vocab_size, dim): id i is row i.

    >>> Embedding(np.eye(3)).weight.shape
    (3, 3)
    """

    def __init__(self, weight: ArrayLike) -> None:
        self.weight = np.ascontiguousarray(floats(weight, "weight"))
        if self.weight.ndim != 2:
            raise ShapeError(f"weight has shape {self.weight.shape}; it must be (vocab_size, dim)")

    @classmethod
    def random(cls, vocab_size: int, dim: int, *, seed: int, init: str = "normal", std: float = 0.02) -> Embedding:
        """Return a table of random vectors, normal with deviation `std` or Xavier's uniform: see `initial`."""
        return cls(initial({"weight": (vocab_size, dim)}, seed=seed, init=init, std=std)["weight"])

    @classmethod
    def from_vectors(
        cls, vectors: Mapping[str, Any], tokens: Mapping[str, int], *, vocab_size: int, seed: int, std: float = 0.02
    ) -> Embedding:
        """Return a table with the given vectors (token → (dim)) at the ids of `tokens`; others are drawn.

        A token of which `vectors` knows nothing keeps its random row.
        """
        first = next(iter(vectors.values()), None)
        if first is None:
            raise OptionError("vectors is empty; their size would give the table's")
        dim = np.asarray(first).shape[-1]
        made = cls.random(vocab_size, dim, seed=seed, std=std)
        for token, i in tokens.items():
            if token not in vectors:
                continue
            vector = floats(vectors[token], f"the vector of {token!r}")
            if vector.shape != (dim,):
                raise ShapeError(f"the vector of {token!r} has shape {vector.shape}; others have ({dim},)")
            if not 0 <= i < vocab_size:
                raise IndexError(f"the id of {token!r} is {i}, outside a table of {vocab_size} rows")
            made.weight[i] = vector
        return made

    def __call__(self, ids: ArrayLike, *, out: Floats | None = None) -> Floats:
        """Return the rows (…, dim) of ids (…); an id outside the table is IndexError, with the id."""
        where = ids_of(ids)
        result = output(out, (*where.shape, self.weight.shape[1]))
        flat = np.ascontiguousarray(where.reshape(-1))
        kernels.gather(self.weight, flat, rows_of(result, self.weight.shape[1]), threads=current_threads())
        return result
