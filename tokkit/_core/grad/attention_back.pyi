"""Types of `attention_back.pyx`."""

from typing import Any

from numpy.typing import NDArray

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
