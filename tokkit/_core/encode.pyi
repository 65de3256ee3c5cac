"""Types of `encode.pyx`."""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.align import AlignedText
from tokkit._core.split import AddedMatcher, SplitPattern
from tokkit._core.text import Text

KEPT_BYTES: int

class BlockPool:
    @property
    def kept_bytes(self) -> int: ...

Pass = tuple[AddedMatcher, bytes | None]
Special = str | Collection[str]

def use_isa(name: str | None) -> None: ...

class Finder:
    guard: AddedMatcher | None
    splittable: bool
    def __init__(
        self, given: Pass | None = None, normalized: Pass | None = None, guard: AddedMatcher | None = None
    ) -> None: ...

class Encoder:
    n_ids: int
    splittable: bool
    def bound(self, n_bytes: int) -> None: ...
    def prepare(self) -> None: ...
    def encode(self, text: Text, finder: Finder | None = None) -> list[int]: ...
    def encode_array(self, text: Text, finder: Finder | None = None) -> NDArray[np.uint32]: ...
    def encode_part(self, text: bytes, finder: Finder | None, continues: bool, goes_on: bool) -> list[int]: ...
    def aligned(
        self, text: bytes, finder: Finder | None = None, before: bytes = b"", after: bytes = b""
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]] | None: ...
    def count(self, text: Text, finder: Finder | None = None) -> int: ...
    @property
    def pool(self) -> BlockPool: ...
    def cache_info(self) -> dict[str, int]: ...

class TextCalls:
    def __init__(self, engine: Any, encoder: Encoder | None, finder: Finder | None) -> None: ...
    def encode(self, text: Text, *, special: Special = "text") -> list[int]: ...
    def encode_ordinary(self, text: Text) -> list[int]: ...
    def count(self, text: Text, *, special: Special = "text") -> int: ...

class Batch:
    units: int
    def __init__(
        self,
        encoder: Encoder,
        texts: list[Text] | list[bytes],
        finder: Finder | None = None,
        ends: list[bytes | None] | None = None,
        *,
        narrow: bool = False,
        before: int = -1,
        after: int = -1,
        valid: bool = False,
    ) -> None: ...
    def prepare_threads(self, n: int) -> None: ...
    def run(self) -> None: ...
    def stop(self) -> None: ...
    def result(self) -> tuple[NDArray[Any], NDArray[np.int64]]: ...
    def close(self) -> None: ...

def split_points(text: Text, encoder: Encoder | None = None, finder: Finder | None = None) -> NDArray[np.int64]: ...
def block_end(text: Text, n: int, encoder: Encoder, finder: Finder | None = None, searched: int = 0) -> int: ...
def count_part(
    text: bytes, start: int, end: int, encoder: Encoder, finder: Finder | None = None
) -> tuple[int, int, int]: ...

class BlockEncoder:
    def __init__(self, encoder: Encoder, finder: Finder | None, refuses: bool, narrow: bool) -> None: ...
    def encode(self, text: Text, n: int, continues: bool = False, goes_on: bool = False) -> BlockEncoder: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def close(self) -> None: ...

class BPEEncoder(Encoder):
    unreachable: int
    def __init__(
        self,
        blob: bytes,
        offsets: NDArray[np.int64],
        special: NDArray[np.uint8],
        merges: NDArray[np.uint32] | None,
        whole_piece: bool,
        split: int | SplitPattern,
        max_words: int,
        drops_unknown: bool = False,
        before: Stages | None = None,
        splittable: bool = False,
    ) -> None: ...
    def encode_pieces(self, text: bytes, ends: NDArray[np.int64], merge_only: bool = False) -> NDArray[np.uint32]: ...
    def units(self, text: Text, isa: str | None = None) -> NDArray[np.int64]: ...
    def open_cut(
        self, text: Text, n: int, pattern: SplitPattern, finder: Finder | None = None, inside: bool = True
    ) -> int: ...
    def merges(self) -> NDArray[np.uint32]: ...

class PieceEncoder:
    cuts_at_blanks: bool
    falls_back: bool
    may_drop: bool
    def has(self, token: bytes) -> bool: ...
    def __init__(
        self,
        kind: str,
        blob: bytes,
        offsets: NDArray[np.int64],
        added_ids: NDArray[np.uint8],
        options: dict[str, object],
    ) -> None: ...
    def encode(
        self, text: AlignedText, seed: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]: ...

def find_merges(
    blob: bytes,
    offsets: NDArray[np.int64],
    added_ids: NDArray[np.uint8],
    text: bytes,
    between: int,
    n_prefix: int,
    n_merges: int,
) -> tuple[NDArray[np.uint32], int]: ...

FORMS: dict[str, int]
CHARACTER_KINDS: dict[str, int]
KINDS: tuple[str, ...]

def kinds_of(character: str) -> set[str]: ...

class Stages:
    def __init__(self, stages: Iterable[tuple[Any, ...]]) -> None: ...
    def __len__(self) -> int: ...
    def run(self, text: AlignedText) -> None: ...

class StagedEncoder(Encoder):
    def __init__(
        self,
        model: PieceEncoder,
        stages: Stages,
        *,
        before: Stages | None = None,
        rule: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None = None,
        word_rule: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None = None,
        one_word: bool = False,
        edges: int = 0,
        kept: NDArray[np.uint8] | None = None,
        n_ids: int = 0,
        max_words: int = 0,
        cache_lines: int = 0,
    ) -> None: ...
    def units(self, text: Text, isa: str | None = None) -> NDArray[np.int64]: ...

class SentencePieceEncoder(Encoder):
    def __init__(
        self,
        blob: bytes,
        offsets: NDArray[np.int64],
        scores: NDArray[np.float32],
        kinds: NDArray[np.uint8],
        *,
        charsmap: bytes,
        unknown: int,
        model: str,
        byte_fallback: bool,
        dummy_prefix: bool,
        remove_extra: bool,
        escape: bool,
        suffix: bool,
        cache_units: int,
        word_marks: NDArray[np.uint8],
        rule: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None = None,
    ) -> None: ...
    def encode_whole(self, text: Text) -> NDArray[np.uint32]: ...
    def segments(self, text: bytes) -> tuple[bytes, NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]: ...
    def normalize(self, text: bytes) -> bytes: ...
    def build_steps(self) -> int: ...

Ids = NDArray[np.uint32]
Spans = NDArray[np.int64]

class NormalizedText:
    def __init__(self, encoder: SentencePieceEncoder, normalized: bytes) -> None: ...
    def best(self) -> tuple[Ids, Spans, float]: ...
    def merge(self, dropout: float, seed: int) -> tuple[Ids, Spans]: ...

class Lattice(NormalizedText):
    def nbest(self, n: int, seconds: float = ...) -> list[tuple[Ids, Spans, float]]: ...
    def sample(self, alpha: float, seed: int, n: int) -> list[tuple[Ids, Spans, float]]: ...
    def sample_distinct(self, alpha: float, seed: int, n: int) -> list[tuple[Ids, Spans, float, float]]: ...
    def total(self, alpha: float) -> float: ...
    def entropy(self, alpha: float) -> float: ...

STAGES: tuple[str, ...]

def clock_hertz() -> float: ...
def scan_seconds(split: int | SplitPattern, texts: Iterable[Text], *, isa: str | None = None) -> tuple[float, int]: ...

class StageTimer:
    def __init__(self, encoder: BPEEncoder, texts: Iterable[Text]) -> None: ...
    def run(self, stage: str, *, isa: str | None = None, fresh: bool = False) -> tuple[float, int, int]: ...
