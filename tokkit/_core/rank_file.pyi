"""Types of `rank_file.pyx`."""

import numpy as np
from numpy.typing import NDArray

MAX_RANK: int

def parse_ranks(data: bytes) -> tuple[bytes, NDArray[np.int64], int | None]: ...
