"""Types of `decode.pyx`."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

class Detokenizer:
    n_ids: int
    lengths: NDArray[np.int64]
    def __init__(self, blob: bytes, offsets: NDArray[np.int64], present: NDArray[np.uint8] | None = None) -> None: ...
    def decode_bytes(self, ids: Iterable[int]) -> bytes: ...
    def decode(self, ids: Iterable[int], errors: str = "replace") -> str: ...
