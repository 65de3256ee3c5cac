"""Types of `sp_train.pyx`."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tokkit._core.charsmap import Normalizer
from tokkit._core.train.training import Training
from tokkit._core.train.word_counts import WordCounts

Buffer = bytes | bytearray | memoryview

class Sink(Protocol):
    def write(self, data: Any, /) -> int: ...

class PieceRules:
    def __init__(
        self,
        max_length: int,
        *,
        split_scripts: bool = True,
        split_numbers: bool = True,
        split_digits: bool = False,
        split_spaces: bool = True,
        space_last: bool = False,
        pieces_of_spaces: bool = False,
        alphabet: str | None = None,
        forbidden: Sequence[str] = (),
    ) -> None: ...
    def is_valid(self, piece: str) -> bool: ...
    def words(self, texts: WordCounts, normalizer: Normalizer, folder: bytes | None = None) -> WordCounts: ...
    def units(self, words: WordCounts, folder: bytes | None = None) -> WordCounts: ...

class SentencePieceBPETrainer(Training):
    def __init__(
        self,
        units: WordCounts | None,
        alphabet: str,
        n_pieces: int,
        rules: PieceRules,
        folder: bytes | None = None,
    ) -> None: ...
    @property
    def n_merges(self) -> int: ...
    def counts(self) -> bytes: ...
    def pieces(self) -> list[bytes]: ...
    def save(self, file: Sink) -> None: ...
    def load(self, read: Callable[[Buffer], None], size: int) -> None: ...
