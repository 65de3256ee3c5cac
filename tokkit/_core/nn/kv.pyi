"""Types of `kv.pyx`."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

KV_BACK: int

def kv_rows(length: int, window: int | None) -> int: ...

class KeyValues:
    first: list[int]
    def __init__(
        self,
        layers: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]],
        first: Sequence[int],
    ) -> None: ...
    def write(
        self, layer: int, row: int, keys: NDArray[Any] | None = None, values: NDArray[Any] | None = None
    ) -> None: ...
