"""Types of `split.pyx`."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tokkit._core.align import AlignedText
from tokkit._core.text import Text

class SplitPattern:
    def __init__(
        self,
        next: NDArray[np.uint32],
        action: NDArray[np.uint8],
        index: NDArray[np.uint16],
        blocks: NDArray[np.uint8],
        *,
        contexts: NDArray[np.uint8],
        n_contexts: int,
        unsure: int,
        keep_unmatched: bool,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def scan(self, text: Text, limit: int = 256) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...

class AddedMatcher:
    def __init__(self, tokens: Iterable[tuple[bytes, int, bool, bool, bool]], isa: str | None = None) -> None: ...
    def __len__(self) -> int: ...
    def cut(self, text: AlignedText, allowed: bytes | None = None) -> None: ...
    @staticmethod
    def plain(tokens: Mapping[bytes, int]) -> AddedMatcher: ...
    def find(self, utf8: bytes, allowed: bytes | None = None) -> list[tuple[int, int, int]]: ...
    def first(self, text: bytes, start_at: int = 0) -> tuple[int, int, int] | None: ...
    def cut_out(self, text: bytes, ends: bytes | None = None) -> tuple[bytes, bytes] | None: ...

def split_by_matches(
    text: AlignedText, find: Callable[[str], Iterable[tuple[int, int]]], behavior: int, invert: bool
) -> None: ...
