"""Types of `json_tables.pyx`."""

import numpy as np
from numpy.typing import NDArray

Vocab = tuple[int, int, bytes, NDArray[np.int64], NDArray[np.int64] | None, NDArray[np.float64] | None]
Merges = tuple[int, int, bytes, int, int]

def find(data: bytes) -> tuple[Vocab | None, Merges | None] | None: ...
