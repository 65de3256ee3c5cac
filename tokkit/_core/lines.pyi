"""Types of `lines.pyx`."""

import numpy as np
from numpy.typing import NDArray

def spell_bytes(
    blob: bytes, offsets: NDArray[np.int64], as_they_are: NDArray[np.uint8], symbols: str
) -> tuple[bytes, NDArray[np.int64]]: ...
def pack_strings(strings: list[str]) -> tuple[bytes, NDArray[np.int64], bool]: ...
def lines(blob: bytes, offsets: NDArray[np.int64]) -> bytes: ...
def pair_lines(text: bytes) -> bytes: ...
def piece_fields(
    blob: bytes,
    offsets: NDArray[np.int64],
    scores: NDArray[np.float32],
    types: NDArray[np.uint8],
    start: int,
    stop: int,
) -> bytes: ...
def rank_lines(blob: bytes, offsets: NDArray[np.int64]) -> bytes: ...
