"""Types of `rows.pyx`."""

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
