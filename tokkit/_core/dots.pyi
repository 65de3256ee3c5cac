"""Types of `dots.pyx`."""

from typing import Any

from numpy.typing import NDArray

def dots(
    rows: NDArray[Any], queries: NDArray[Any], scores: NDArray[Any], *, threads: int = 1, isa: str | None = None
) -> None: ...
