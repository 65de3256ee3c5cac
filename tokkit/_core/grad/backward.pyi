"""Types of `backward.pyx`."""

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
