"""Types of `word2vec.pyx`."""

from typing import Any

from numpy.typing import NDArray

from tokkit._core.embed.sentences import Negatives

class Word2VecTraining:
    def __init__(
        self,
        ids: NDArray[Any],
        ends: NDArray[Any],
        vectors: NDArray[Any],
        *,
        out: NDArray[Any] | None = ...,
        negatives: Negatives | None = ...,
        negative: int = ...,
        nodes: NDArray[Any] | None = ...,
        paths: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = ...,
        keep: NDArray[Any] | None = ...,
        window: int = ...,
        shrink: bool = ...,
        skip_gram: bool = ...,
        mean: bool = ...,
        batched: bool = ...,
        losses: bool = ...,
        seed: int = ...,
        isa: str | None = ...,
        copy_from: int = ...,
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
        tally: NDArray[Any] | None = ...,
    ) -> tuple[int, float]: ...
