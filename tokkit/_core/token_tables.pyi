"""Types of `token_tables.pyx`."""

import numpy as np
from numpy.typing import NDArray

class TokenIndex:
    twice: int
    def __init__(self, blob: bytes, offsets: NDArray[np.int64]) -> None: ...
    def find(self, token: bytes) -> int: ...
    def find_merges(self, text: bytes, between: int, n_prefix: int, n_merges: int) -> NDArray[np.uint32] | None: ...

def gather(
    blob: bytes, offsets: NDArray[np.int64], numbers: NDArray[np.int64]
) -> tuple[bytes, NDArray[np.int64]]: ...
def translate(
    blob: bytes, offsets: NDArray[np.int64], byte_of: NDArray[np.uint16]
) -> tuple[bytes, NDArray[np.int64]] | None: ...
