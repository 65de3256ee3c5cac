"""Types of `nn.pyx`."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

ACTIVATIONS: tuple[str, ...]

def softmax(
    x: NDArray[Any], y: NDArray[Any], *, log: bool = False, threads: int = 1, isa: str | None = None
) -> None: ...
def norm(
    x: NDArray[Any],
    y: NDArray[Any],
    weight: NDArray[Any] | None = None,
    bias: NDArray[Any] | None = None,
    *,
    eps: float = 1e-5,
    centred: bool = True,
    residual: NDArray[Any] | None = None,
    total: NDArray[Any] | None = None,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def activate(
    x: NDArray[Any],
    y: NDArray[Any],
    activation: str,
    bias: NDArray[Any] | None = None,
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def gate(
    x: NDArray[Any],
    other: NDArray[Any],
    y: NDArray[Any],
    activation: str,
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def gather(
    table: NDArray[Any],
    ids: NDArray[Any],
    y: NDArray[Any],
    bias: NDArray[Any] | None = None,
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def rotate(
    x: NDArray[Any],
    y: NDArray[Any],
    cosines: NDArray[Any],
    sines: NDArray[Any],
    *,
    pairs: bool = False,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...

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

BLOCK: int
FAR: int

class BlockLists:
    def __init__(
        self,
        starts: NDArray[Any],
        blocks: NDArray[Any],
        masks: NDArray[Any],
        table: NDArray[Any],
        columns: int,
    ) -> None: ...
    @property
    def heads(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...

FEATURES: dict[str, int]

def attend_features(
    q: NDArray[Any] | None,
    k: NDArray[Any] | None,
    v: NDArray[Any] | None,
    out: NDArray[Any] | None,
    state: NDArray[Any],
    feature: str,
    *,
    ignored: NDArray[Any] | None = None,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def attend(
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    out: NDArray[Any],
    scale: float,
    band: tuple[int, int, int],
    *,
    allow: NDArray[Any] | None = None,
    add: NDArray[Any] | None = None,
    ignored: NDArray[Any] | None = None,
    by_distance: NDArray[Any] | None = None,
    zero: int = 0,
    blocks: NDArray[Any] | None = None,
    block: int = 0,
    q_starts: NDArray[Any] | None = None,
    k_starts: NDArray[Any] | None = None,
    cap: float = 0,
    k_scales: NDArray[Any] | None = None,
    v_scales: NDArray[Any] | None = None,
    lists: BlockLists | None = None,
    narrow: bool = False,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def dots(
    rows: NDArray[Any], queries: NDArray[Any], scores: NDArray[Any], *, threads: int = 1, isa: str | None = None
) -> None: ...
def bags(
    table: NDArray[Any],
    ids: NDArray[Any],
    starts: NDArray[Any],
    out: NDArray[Any],
    *,
    row_of: NDArray[Any] | None = None,
    weights: NDArray[Any] | None = None,
    ignored: int | None = None,
    max_ids: int | None = None,
    normalize: bool = False,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...

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
