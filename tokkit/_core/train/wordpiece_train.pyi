"""Types of `wordpiece_train.pyx`."""

from collections.abc import Callable
from typing import Any, Protocol

from tokkit._core.split import AddedMatcher
from tokkit._core.train.training import Spelling, Training
from tokkit._core.train.word_counts import WordCounts

Buffer = bytes | bytearray | memoryview

class Sink(Protocol):
    def write(self, data: Any, /) -> int: ...

class WordPieceTrainer(Training):
    def __init__(
        self,
        counts: WordCounts | None,
        tokens: list[tuple[bytes, int]],
        vocab_size: int,
        min_frequency: int,
        spelling: Spelling,
        by_gain: bool,
        folder: bytes | None = None,
        forbidden: AddedMatcher | None = None,
    ) -> None: ...
    def merges(self) -> bytes: ...
    def save(self, file: Sink) -> None: ...
    def load(self, read: Callable[[Buffer], None], size: int) -> None: ...
