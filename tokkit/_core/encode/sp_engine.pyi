"""Types of `sp_engine.pyx`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.encode.plan import Encoder
from tokkit._core.text import Text

class SentencePieceEncoder(Encoder):
    def __init__(
        self,
        blob: bytes,
        offsets: NDArray[np.int64],
        scores: NDArray[np.float32],
        kinds: NDArray[np.uint8],
        *,
        charsmap: bytes,
        unknown: int,
        model: str,
        byte_fallback: bool,
        dummy_prefix: bool,
        remove_extra: bool,
        escape: bool,
        suffix: bool,
        cache_units: int,
        word_marks: NDArray[np.uint8],
        rule: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None = None,
    ) -> None: ...
    def encode_whole(self, text: Text) -> NDArray[np.uint32]: ...
    def segments(self, text: bytes) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]: ...
    def normalize(self, text: bytes) -> bytes: ...
    def build_steps(self) -> int: ...
    def plain(self, text: Text, names: list[Any] | None = None, as_bytes: bool = False) -> list[Any] | None: ...
    def plain_batch(
        self, texts: list[Any], names: list[Any] | None = None, as_bytes: bool = False
    ) -> list[list[Any] | None]: ...

def piece_names(
    names: list[Any], ids: list[int], normalized: bytes, spans: NDArray[np.int64], as_bytes: bool
) -> list[Any]: ...
def pieces_message(
    text: bytes, names: list[bytes], ids: list[int], spans: NDArray[np.int64], bare: bytes | None
) -> bytes | None: ...
