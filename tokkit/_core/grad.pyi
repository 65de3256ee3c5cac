"""Types of `grad.pyx`."""

from typing import Any

from numpy.typing import NDArray

class Room: ...

def matmul(
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    add: NDArray[Any] | None = None,
    *,
    bias: NDArray[Any] | None = None,
    a_sums: NDArray[Any] | None = None,
    bf16: bool = False,
    dots: bool | None = None,
    room: Room | None = None,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def grad_attention(
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    out: NDArray[Any],
    lse: NDArray[Any],
    *,
    scale: float,
    causal: bool = True,
    before: int = -1,
    after: int = -1,
    by_distance: NDArray[Any] | None = None,
    zero: int = 0,
    dropout: float = 0,
    seed: int = 0,
    first_sequence: int = 0,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def attention_back(
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    out: NDArray[Any],
    lse: NDArray[Any],
    dout: NDArray[Any],
    dq: NDArray[Any],
    dk: NDArray[Any],
    dv: NDArray[Any],
    *,
    scale: float,
    causal: bool = True,
    before: int = -1,
    after: int = -1,
    by_distance: NDArray[Any] | None = None,
    zero: int = 0,
    d_by_distance: NDArray[Any] | None = None,
    dropout: float = 0,
    seed: int = 0,
    first_sequence: int = 0,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def norm_back(
    dy: NDArray[Any],
    x: NDArray[Any],
    weight: NDArray[Any],
    dx: NDArray[Any],
    dweight: NDArray[Any],
    dbias: NDArray[Any] | None = None,
    *,
    add: NDArray[Any] | None = None,
    eps: float = 1e-5,
    centred: bool = True,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def batch_norm(
    x: NDArray[Any],
    weight: NDArray[Any],
    bias: NDArray[Any],
    mean: NDArray[Any],
    variance: NDArray[Any],
    y: NDArray[Any],
    *,
    eps: float = 1e-5,
    of_batch: bool = True,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def batch_norm_back(
    dy: NDArray[Any],
    x: NDArray[Any],
    weight: NDArray[Any],
    mean: NDArray[Any],
    variance: NDArray[Any],
    dx: NDArray[Any],
    dweight: NDArray[Any],
    dbias: NDArray[Any],
    *,
    eps: float = 1e-5,
    of_batch: bool = True,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def activate_back(
    dy: NDArray[Any],
    x: NDArray[Any],
    dx: NDArray[Any],
    activation: str,
    y: NDArray[Any] | None = None,
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def gate_back(
    dy: NDArray[Any],
    x: NDArray[Any],
    other: NDArray[Any],
    dx: NDArray[Any],
    dother: NDArray[Any],
    activation: str,
    y: NDArray[Any] | None = None,
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def cross_entropy_back(
    x: NDArray[Any],
    targets: NDArray[Any],
    dx: NDArray[Any],
    losses: NDArray[Any],
    by: float,
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def drop_out(
    x: NDArray[Any],
    y: NDArray[Any],
    p: float,
    seed: int,
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def add_column_sums(
    dy: NDArray[Any],
    sums: NDArray[Any],
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def scatter_add(
    dy: NDArray[Any],
    ids: NDArray[Any],
    table: NDArray[Any],
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def adamw_step(
    p: NDArray[Any],
    g: NDArray[Any],
    m: NDArray[Any],
    v: NDArray[Any],
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    by: float,
    number: int,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def sgd_step(
    p: NDArray[Any],
    g: NDArray[Any],
    m: NDArray[Any] | None = None,
    *,
    lr: float,
    momentum: float,
    decay: float,
    by: float,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def average_step(
    average: NDArray[Any],
    p: NDArray[Any],
    decay: float,
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def sum_of_squares(
    g: NDArray[Any],
    *,
    threads: int = 1,
    isa: str | None = None,
) -> float: ...
def round_to_bf16(
    x: NDArray[Any], half: NDArray[Any], *, in_place: bool = False, threads: int = 1, isa: str | None = None
) -> None: ...
def widen_bf16(half: NDArray[Any], x: NDArray[Any], *, threads: int = 1, isa: str | None = None) -> None: ...
