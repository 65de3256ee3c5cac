"""Types of `attention.pyx`."""

from typing import Any

from numpy.typing import NDArray

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
