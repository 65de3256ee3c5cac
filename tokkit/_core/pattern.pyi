"""Types of `pattern.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.text import Text

class SplitPattern:
    def __init__(
        self,
        next: NDArray[np.uint32],
        action: NDArray[np.uint8],
        index: NDArray[np.uint16],
        blocks: NDArray[np.uint8],
        *,
        start: int,
        gap: int,
        unsure: int,
        keep_unmatched: bool,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def scan(self, text: Text, limit: int = 256) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...
