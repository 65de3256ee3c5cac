"""Types of `embed.pyx`."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Sentences:
    def __init__(self, max_words: int) -> None: ...
    def add_text(self, text: bytes, *, last: bool) -> tuple[int, int]: ...
    def add_words(self, words: Iterable[str], *, ends_sentence: bool = ...) -> None: ...
    def take(self) -> tuple[bytes, bytes]: ...
    def words(self) -> tuple[list[str], list[int]]: ...
    @property
    def n_words(self) -> int: ...

def map_sentences(ids: NDArray[Any], ends: NDArray[Any], to: NDArray[Any]) -> tuple[int, int]: ...

class Negatives:
    falling: bool
    def __init__(self, cumulated: NDArray[Any], guide: NDArray[Any]) -> None: ...
    def draw(self, out: NDArray[Any], seed: int) -> None: ...

class LabelledWords:
    def __init__(self, words: Iterable[bytes] = ...) -> None: ...
    def __len__(self) -> int: ...
    def find(self, word: bytes) -> int: ...
    def read(self, text: bytes, *, last: bool) -> int: ...
    def take(self) -> bytes: ...
    def words(self) -> tuple[list[bytes], list[int]]: ...

class NgramRows:
    def __init__(self, *, min_n: int, max_n: int, bucket: int, first: int, left: NDArray[Any] | None = ...) -> None: ...
    def of_words(self, words: Iterable[bytes | None], *, n_own: int) -> tuple[bytes, bytes]: ...

class LineRows:
    def __init__(
        self,
        words: LabelledWords,
        n_words: int,
        n_labels: int,
        prefix: bytes,
        *,
        ends: NDArray[Any],
        rows: NDArray[Any],
        hashes: NDArray[Any],
        word_ngrams: int,
        ngrams: NgramRows,
    ) -> None: ...
    def of_texts(self, texts: Iterable[bytes]) -> tuple[bytes, bytes]: ...

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

def word_hashes(words: Iterable[bytes]) -> bytes: ...
def row_means(
    matrix: NDArray[Any],
    rows: NDArray[Any],
    ends: NDArray[Any],
    out: NDArray[Any],
    *,
    threads: int = ...,
    isa: str | None = ...,
) -> None: ...

class PackedKeys:
    def __init__(self, blob: bytes = ..., offsets: bytes = ...) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> str: ...
    def __iter__(self) -> Iterator[str]: ...
    def find(self, key: object) -> int: ...
    def unpacked(self) -> tuple[list[Any], dict[Any, int]]: ...

class VectorReader:
    def __init__(self, d: int, line: int = 0) -> None: ...
    def room(self, rows: NDArray[np.float32]) -> None: ...
    def check_only(self, capacity: int) -> None: ...
    @property
    def starts(self) -> bytes: ...
    @property
    def n(self) -> int: ...
    @property
    def line(self) -> int: ...
    def feed(self, data: bytes | bytearray | memoryview, *, text: bool, last: bool) -> int: ...
    def packed(self) -> PackedKeys: ...
    def keys(self, encoding: str, errors: str) -> list[str]: ...

def copy_rows(data: bytes | memoryview, starts: NDArray[np.int64], rows: NDArray[np.float32]) -> None: ...
def vector_lines(keys: list[bytes], rows: NDArray[np.float32]) -> bytes: ...

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
