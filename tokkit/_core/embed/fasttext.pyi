"""Types of `fasttext.pyx`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.labelled import LineRows
from tokkit._core.embed.sentences import Negatives

class FastTextObjective:
    def __init__(
        self,
        input: NDArray[Any],
        output: NDArray[Any],
        loss: str,
        *,
        negative: int = ...,
        negatives: Negatives | None = ...,
        paths: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = ...,
        next: FastTextObjective | None = ...,
    ) -> None: ...

class ClassifierTraining:
    def __init__(
        self,
        objective: FastTextObjective,
        rows: LineRows,
        ids: NDArray[Any],
        ends: NDArray[Any],
        *,
        total: int,
        rate_each: int,
        lr: float,
    ) -> None: ...
    def run(
        self, first: int, n: int, *, begun: int, seed: int, threads: int = ..., isa: str | None = ...
    ) -> tuple[float, int]: ...

class FastTextTraining:
    def __init__(
        self,
        objective: FastTextObjective,
        row_ends: NDArray[Any],
        rows: NDArray[Any],
        gain: NDArray[Any],
        ids: NDArray[Any],
        ends: NDArray[Any],
        keep: NDArray[Any] | None,
        *,
        window: int,
        cbow: bool,
        shrink: bool,
        mean: bool,
        seed: int,
    ) -> None: ...
    def run(
        self,
        start: int,
        stop: int,
        *,
        epoch: int,
        alpha: float,
        alpha_fall: float = ...,
        min_alpha: float = ...,
        threads: int = ...,
        tally: NDArray[np.float64] | None = ...,
        isa: str | None = ...,
    ) -> tuple[int, float]: ...

def row_means(
    matrix: NDArray[Any],
    rows: NDArray[Any],
    ends: NDArray[Any],
    out: NDArray[Any],
    *,
    threads: int = ...,
    isa: str | None = ...,
) -> None: ...
