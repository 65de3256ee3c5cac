"""Types of `wordpiece_train.pyx`."""

from tokkit._core.bpe_train import WordCounts
from tokkit._core.spelling import Spelling
from tokkit._core.training import Training

class WordPieceTrainer(Training):
    def __init__(
        self,
        counts: WordCounts,
        tokens: list[tuple[bytes, int]],
        vocab_size: int,
        min_frequency: int,
        spelling: Spelling,
    ) -> None: ...
    def merges(self) -> bytes: ...
