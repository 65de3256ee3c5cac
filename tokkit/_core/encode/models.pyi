"""Types of `models.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.align import AlignedText

class PieceEncoder:
    cuts_at_blanks: bool
    falls_back: bool
    may_drop: bool
    def has(self, token: bytes) -> bool: ...
    def __init__(
        self,
        kind: str,
        blob: bytes,
        offsets: NDArray[np.int64],
        added_ids: NDArray[np.uint8],
        options: dict[str, object],
    ) -> None: ...
    def encode(
        self, text: AlignedText, seed: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]: ...

def find_merges(
    blob: bytes,
    offsets: NDArray[np.int64],
    added_ids: NDArray[np.uint8],
    text: bytes,
    between: int,
    n_prefix: int,
    n_merges: int,
) -> tuple[NDArray[np.uint32], int]: ...
