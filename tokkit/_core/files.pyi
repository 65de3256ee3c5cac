"""Types of `files.pyx`."""

import numpy as np
from numpy.typing import NDArray

Vocab = tuple[int, int, bytes, NDArray[np.int64], NDArray[np.int64] | None, NDArray[np.float64] | None]
Merges = tuple[int, int, bytes, int, int]

def find_tables(data: bytes) -> tuple[Vocab | None, Merges | None] | None: ...
def read_model(
    data: bytes,
) -> tuple[
    tuple[bytes, NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]],
    list[tuple[int, bytes]],
    list[tuple[int, int, int]],
]: ...
