"""Types of `sp_whole.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.special import SpecialMatcher
from tokkit._core.text import Text

KINDS: dict[str, int]

class WholeEncoder:
    def __init__(
        self,
        kind: str,
        blob: bytes,
        offsets: NDArray[np.int64],
        scores: NDArray[np.float32],
        types: NDArray[np.uint8],
        *,
        charsmap: bytes,
        add_prefix: bool,
        remove_extra: bool,
        escape: bool,
        suffix: bool,
        byte_fallback: bool,
    ) -> None: ...
    def encode(self, text: Text, matcher: SpecialMatcher | None = None) -> list[int]: ...
    def encode_array(self, text: Text, matcher: SpecialMatcher | None = None) -> NDArray[np.uint32]: ...
    def count(self, text: Text, matcher: SpecialMatcher | None = None) -> int: ...
    def encode_several(
        self, texts: list[Text], matcher: SpecialMatcher | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def aligned(
        self, text: bytes, matcher: SpecialMatcher | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def segments(self, text: bytes) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]: ...
    def cache_info(self) -> dict[str, int]: ...
