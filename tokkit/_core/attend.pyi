"""Types of `attend.pyx`."""

from typing import Any

from numpy.typing import NDArray

BLOCK: int
FAR: int

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
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
