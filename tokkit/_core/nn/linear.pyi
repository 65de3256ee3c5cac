"""Types of `linear.pyx`."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

KINDS: tuple[str, ...]
FUSED: tuple[str, ...]

def rounds_bfloat16(isa: str | None = None, *, wide: bool | None = None) -> bool: ...

class LargeMemory:
    def __init__(self, chunk: int = 16 << 20) -> None: ...

class PackedLinear:
    def __init__(
        self,
        weight: NDArray[Any],
        bias: NDArray[Any] | None = None,
        kind: str = "float32",
        *,
        memory: LargeMemory | None = None,
    ) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @classmethod
    def of_blocks(
        cls,
        parts: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]],
        kind: str,
        bias: NDArray[Any] | None = None,
        *,
        memory: LargeMemory | None = None,
    ) -> PackedLinear: ...
    @classmethod
    def over(cls, image: NDArray[Any], n: int, k: int, kind: str, minima: bool = False) -> PackedLinear: ...
    @property
    def minima(self) -> bool: ...
    def read(self, rows: NDArray[Any], out: NDArray[Any]) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def kind(self) -> str: ...
    def run(
        self,
        x: NDArray[Any],
        y: NDArray[Any],
        *,
        activation: str = "identity",
        residual: NDArray[Any] | None = None,
        threads: int = 1,
        isa: str | None = None,
        wide: bool | None = None,
    ) -> None: ...

class PackedExperts:
    dim: int
    def __init__(
        self,
        router: PackedLinear,
        pairs: Sequence[tuple[PackedLinear, PackedLinear]],
        *,
        top: int,
        gated: bool,
        renormalize: bool = True,
        shared: tuple[PackedLinear, PackedLinear] | None = None,
        shared_gate: PackedLinear | None = None,
    ) -> None: ...
