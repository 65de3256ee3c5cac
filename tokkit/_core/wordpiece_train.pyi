"""Types of `wordpiece_train.pyx`."""

from tokkit._core.bpe_train import WordCounts
from tokkit._core.spelling import Spelling

class WordPieceTrainer:
    def __init__(
        self,
        counts: WordCounts,
        tokens: list[tuple[bytes, int]],
        vocab_size: int,
        min_frequency: int,
        spelling: Spelling,
    ) -> None: ...
    def run(self, budget: int) -> bool: ...
    @property
    def n_ids(self) -> int: ...
    def merges(self) -> bytes: ...
    def tokens(self) -> tuple[bytes, bytes]: ...
