"""Types of `encoder.pyx`."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

class PackedEncoder:
    def __init__(
        self, layers: Sequence[Sequence[Any]], *, heads: int, dim: int, activation: str = "gelu", eps: float = 1e-12
    ) -> None: ...
    def run(
        self,
        x: NDArray[Any],
        starts: NDArray[Any],
        *,
        states: NDArray[Any] | None = None,
        by_distance: NDArray[Any] | None = None,
        zero: int = 0,
        threads: int = 1,
        isa: str | None = None,
    ) -> None: ...
