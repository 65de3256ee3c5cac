"""Types of `piece_units.pyx`."""

from tokkit._core.bpe_train import WordCounts
from tokkit._core.sp_normalize import Normalizer

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
    ) -> None: ...
    def is_valid(self, piece: str) -> bool: ...
    def words(self, texts: WordCounts, normalizer: Normalizer) -> WordCounts: ...
    def units(self, words: WordCounts) -> WordCounts: ...
