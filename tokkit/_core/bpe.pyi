"""Types of `bpe.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.id_blocks import BlockPool
from tokkit._core.pattern import SplitPattern
from tokkit._core.special import SpecialMatcher
from tokkit._core.text import Text

class BPEEncoder:
    n_ids: int
    unreachable: int
    def __init__(
        self,
        blob: bytes,
        offsets: NDArray[np.int64],
        special: NDArray[np.uint8],
        merges: NDArray[np.uint32] | None,
        whole_piece: bool,
        split: int | SplitPattern,
        max_words: int,
        drops_unknown: bool = False,
    ) -> None: ...
    def prepare(self) -> None: ...
    def encode(self, text: Text, matcher: SpecialMatcher | None = None) -> list[int]: ...
    def encode_array(self, text: Text, matcher: SpecialMatcher | None = None) -> NDArray[np.uint32]: ...
    def count(self, text: Text, matcher: SpecialMatcher | None = None) -> int: ...
    def encode_pieces(self, text: bytes, ends: NDArray[np.int64], only_merge: bool = False) -> NDArray[np.uint32]: ...
    def units(self, text: Text, isa: str | None = None) -> NDArray[np.int64]: ...
    @property
    def pool(self) -> BlockPool: ...
    def cache_info(self) -> dict[str, int]: ...
    def merges(self) -> NDArray[np.uint32]: ...
