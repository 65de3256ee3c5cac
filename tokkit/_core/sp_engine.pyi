"""Types of `sp_engine.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.special import SpecialMatcher
from tokkit._core.text import Text

def use_isa(name: str | None) -> None: ...

class SentencePieceEncoder:
    def __init__(
        self,
        blob: bytes,
        offsets: NDArray[np.int64],
        scores: NDArray[np.float32],
        kinds: NDArray[np.uint8],
        *,
        charsmap: bytes,
        unknown: int,
        bpe: bool,
        byte_fallback: bool,
        dummy_prefix: bool,
        remove_extra: bool,
        escape: bool,
        suffix: bool,
        cache_units: int,
    ) -> None: ...
    def encode(self, text: Text, matcher: SpecialMatcher | None = None) -> list[int]: ...
    def encode_array(self, text: Text, matcher: SpecialMatcher | None = None) -> NDArray[np.uint32]: ...
    def encode_whole(self, text: Text) -> NDArray[np.uint32]: ...
    def count(self, text: Text, matcher: SpecialMatcher | None = None) -> int: ...
    def encode_several(
        self, texts: list[Text], matcher: SpecialMatcher | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def aligned(
        self, text: bytes, matcher: SpecialMatcher | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def segments(self, text: bytes) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]: ...
    def normalize(self, text: bytes) -> bytes: ...
    def build_steps(self) -> int: ...
    def cache_info(self) -> dict[str, int]: ...
