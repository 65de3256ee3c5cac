"""Types of `model_file.pyx`."""

import numpy as np
from numpy.typing import NDArray

def read(
    data: bytes,
) -> tuple[
    tuple[bytes, NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]],
    list[tuple[int, bytes]],
    list[tuple[int, int, int]],
]: ...
