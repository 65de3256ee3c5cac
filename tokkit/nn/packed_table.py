"""`PackedTable`: a table of tokens that reads its rows from a packed matrix, to store it only once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit._core.nn.linear import PackedLinear
from tokkit.nn.arrays import Floats


class PackedTable:
    """The rows of a matrix in groups, converted to float32 on access."""

    def __init__(self, packed: PackedLinear) -> None:
        self.packed = packed
        self.shape: tuple[int, ...] = packed.shape

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def rows(self, ids: NDArray[np.int64]) -> Floats:
        """Return some rows (n, dim) as float32."""
        made = np.empty((len(ids), self.shape[1]), dtype=np.float32)
        self.packed.read(np.ascontiguousarray(ids, dtype=np.int64), made)
        return made

    def float32(self) -> Floats:
        """Return all rows as float32."""
        return self.rows(np.arange(len(self)))
