"""Types of `writing.pyx`."""

import numpy as np
from numpy.typing import NDArray

Layout = tuple[bytes, bytes, bytes, bytes]

class JsonWriter:
    def put(self, text: bytes) -> None: ...
    def ids(self, blob: bytes, offsets: NDArray[np.int64], ids: NDArray[np.int64], layout: Layout) -> None: ...
    def scores(
        self,
        blob: bytes,
        offsets: NDArray[np.int64],
        scores: NDArray[np.float64],
        layout: Layout,
        start: int = 0,
        read_back: bool = True,
    ) -> int: ...
    def merges(self, text: bytes, between: int, layout: Layout) -> None: ...
    def merges_of(
        self, blob: bytes, offsets: NDArray[np.int64], merges: NDArray[np.uint32], layout: Layout
    ) -> None: ...
    def added(
        self,
        blob: bytes,
        offsets: NDArray[np.int64],
        ids: NDArray[np.int64],
        flags: NDArray[np.uint8],
        before: tuple[bytes, ...],
        after: bytes,
        between: bytes,
    ) -> None: ...
    def __len__(self) -> int: ...
    def as_text(self) -> str: ...
    def take(self) -> bytes: ...

def merge_lines(blob: bytes, offsets: NDArray[np.int64], merges: NDArray[np.uint32]) -> bytes: ...
def first_not_joined(blob: bytes, offsets: NDArray[np.int64], merges: NDArray[np.uint32]) -> int: ...
