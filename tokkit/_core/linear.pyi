"""Types of `linear.pyx`."""

from typing import Any

from numpy.typing import NDArray

KINDS: tuple[str, ...]
ACTIVATIONS: tuple[str, ...]
FUSED: tuple[str, ...]

def rounds_bfloat16(isa: str | None = None) -> bool: ...

class PackedLinear:
    def __init__(self, weight: NDArray[Any], bias: NDArray[Any] | None = None, kind: str = "float32") -> None: ...
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
        wide: bool = False,
    ) -> None: ...
