"""Types of `charsmap.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.text import Text

class Charsmap:
    data: bytes
    def __init__(self, data: bytes) -> None: ...
    def keeps(self, character: str) -> bool: ...

def clusters(text: str) -> list[str]: ...

class Normalizer:
    most: int
    def __init__(
        self,
        charsmap: bytes,
        symbols: list[bytes] = ...,
        *,
        add_prefix: bool,
        remove_extra: bool,
        escape: bool,
        suffix: bool = False,
        one_byte_space: bool = False,
    ) -> None: ...
    def normalize(self, text: Text) -> bytes: ...
    def normalize_aligned(self, text: Text) -> tuple[bytes, NDArray[np.uint32]]: ...
