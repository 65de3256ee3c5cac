"""Types of `decoder.pyx`."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from tokkit._core.nn.kv import KeyValues

class PackedDecoder:
    def __init__(
        self,
        layers: Sequence[dict[str, Any]],
        *,
        dim: int,
        heads: int,
        kv_heads: int,
        head_dim: int,
        hidden: int,
        rms: bool,
        activation: str,
        gated: bool,
        parallel: bool,
        pairs: bool,
        eps: float,
        scale: float,
        cap: float = 0,
        post_norm: bool = False,
        bidirectional: bool = False,
    ) -> None: ...
    def run(
        self,
        x: NDArray[Any],
        rows: NDArray[Any],
        caches: Sequence[tuple[KeyValues, int]] | None,
        *,
        memories: Sequence[tuple[NDArray[Any], NDArray[Any]]] | None = None,
        angles: Sequence[tuple[NDArray[Any], NDArray[Any]]] = (),
        by_distance: NDArray[Any] | None = None,
        zero: int = 0,
        states: NDArray[Any] | None = None,
        threads: int = 1,
        isa: str | None = None,
    ) -> None: ...
