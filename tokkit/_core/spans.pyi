"""Types of `spans.pyx`."""

import numpy as np
from numpy.typing import NDArray

def of_lengths(ids: NDArray[np.uint32], lengths: NDArray[np.int64]) -> NDArray[np.int64]: ...
def of_characters(utf8: bytes, spans: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]: ...
def trim(
    spans: NDArray[np.int64],
    leading: NDArray[np.int64],
    trailing: NDArray[np.int64],
    spares: bool,
    at_start: bool,
) -> None: ...
def pairs(spans: NDArray[np.int64]) -> list[tuple[int, int]]: ...
