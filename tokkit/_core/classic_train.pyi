"""Types of `classic_train.pyx`."""

import numpy as np
from numpy.typing import NDArray

class ClassicTrainer:
    def __init__(
        self,
        symbols: NDArray[np.int32],
        ends: NDArray[np.int64],
        counts: NDArray[np.int64],
        lengths: NDArray[np.uint32],
    ) -> None: ...
    def best(self) -> tuple[int, int, int] | None: ...
    def merge(self, left: int, right: int, result: int) -> None: ...
