"""Types of `optim.pyx`."""

from typing import Any

from numpy.typing import NDArray

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
