"""Types of `staged.pyx`."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.align import AlignedText
from tokkit._core.encode.models import PieceEncoder
from tokkit._core.encode.plan import Encoder
from tokkit._core.text import Text

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
