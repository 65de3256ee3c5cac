"""Types of `bpe_train.pyx`."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit._core.split import AddedMatcher
from tokkit._core.train.training import Spelling, Training
from tokkit._core.train.word_counts import WordCounts

Buffer = bytes | bytearray | memoryview

class Sink(Protocol):
    def write(self, data: Any, /) -> int: ...

class BPETrainer(Training):
    def __init__(
        self,
        counts: WordCounts | None,
        tokens: list[tuple[bytes, int]],
        vocab_size: int,
        min_frequency: int,
        max_length: int,
        spelling: Spelling | None = None,
        folder: bytes | None = None,
        forbidden: AddedMatcher | None = None,
    ) -> None: ...
    def merges(self) -> bytes: ...
    def merge_counts(self) -> bytes: ...
    def save(self, file: Sink) -> None: ...
    def load(self, read: Callable[[Buffer], None], size: int) -> None: ...

class ClassicTrainer:
    def __init__(
        self,
        symbols: NDArray[np.int32],
        ends: NDArray[np.int64],
        counts: NDArray[np.int64],
        n_symbols: int,
    ) -> None: ...
    def best(self) -> tuple[int, int, int] | None: ...
    def forbid(self, left: int, right: int) -> None: ...
    def merge(self, left: int, right: int, result: int) -> None: ...
    def words(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]: ...
