"""Types of `bert.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.models import PieceEncoder
from tokkit._core.special import SpecialMatcher
from tokkit._core.text import Text

def use_isa(name: str | None) -> None: ...

class BertEncoder:
    def __init__(
        self,
        model: PieceEncoder,
        *,
        clean: bool,
        chinese: bool,
        strip: bool,
        lower: bool,
        cache_words: int,
        cache_long_words: int,
    ) -> None: ...
    def encode(self, text: Text, matcher: SpecialMatcher | None = None) -> list[int] | None: ...
    def encode_array(self, text: Text, matcher: SpecialMatcher | None = None) -> NDArray[np.uint32] | None: ...
    def count(self, text: Text, matcher: SpecialMatcher | None = None) -> int | None: ...
    def aligned(
        self, text: bytes, matcher: SpecialMatcher | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]] | None: ...
    def cache_info(self) -> dict[str, int]: ...
