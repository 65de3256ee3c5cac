"""Types of `bpe.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.encode.plan import Encoder, Finder
from tokkit._core.encode.staged import Stages
from tokkit._core.split import SplitPattern
from tokkit._core.text import Text

class BPEEncoder(Encoder):
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
        before: Stages | None = None,
        splittable: bool = False,
    ) -> None: ...
    def encode_pieces(self, text: bytes, ends: NDArray[np.int64], merge_only: bool = False) -> NDArray[np.uint32]: ...
    def units(self, text: Text, isa: str | None = None) -> NDArray[np.int64]: ...
    def open_cut(
        self, text: Text, n: int, pattern: SplitPattern, finder: Finder | None = None, inside: bool = True
    ) -> int: ...
    def merges(self) -> NDArray[np.uint32]: ...
