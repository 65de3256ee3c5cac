"""Types of `linear_attention.pyx`."""

from typing import Any

from numpy.typing import NDArray

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
