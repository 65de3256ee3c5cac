"""Types of `cooccurrence.pyx`."""

from typing import Any

from numpy.typing import NDArray

class SparseRows:
    n_words: int
    def fill(
        self, begin: int, indices: NDArray[Any], values: NDArray[Any], lengths: NDArray[Any]
    ) -> tuple[int, int]: ...

class ContextRows(SparseRows):
    def __init__(
        self,
        n_words: int,
        ids: NDArray[Any],
        ends: NDArray[Any],
        first: int,
        last: int,
        weights: NDArray[Any],
        before: int,
        after: int,
    ) -> None: ...

class MergedRows(SparseRows):
    def __init__(self, n_words: int, runs: list[Any]) -> None: ...

def train_glove(
    records: NDArray[Any],
    words: NDArray[Any],
    contexts: NDArray[Any],
    rates: NDArray[Any],
    tally: NDArray[Any],
    *,
    threads: int = 1,
    isa: str | None = None,
) -> None: ...
def sparse_product(
    starts: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    x: NDArray[Any],
    y: NDArray[Any],
    *,
    transposed: bool = False,
    isa: str | None = None,
) -> None: ...
