"""Types of `spans.pyx`."""

import numpy as np
from numpy.typing import NDArray

def spans_of_lengths(ids: NDArray[np.uint32], lengths: NDArray[np.int64]) -> NDArray[np.int64]: ...
def spans_in_characters(utf8: bytes, spans: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]: ...
def trim(
    spans: NDArray[np.int64],
    leading: NDArray[np.int64],
    trailing: NDArray[np.int64],
    spares: bool,
    at_start: bool,
) -> None: ...
def trim_by_id(
    spans: NDArray[np.int64],
    ids: NDArray[np.uint32],
    codes: bytes,
    trims: tuple[tuple[bool, bool], ...],
    before: int = 0,
    after: int = 0,
) -> NDArray[np.int64] | None: ...
