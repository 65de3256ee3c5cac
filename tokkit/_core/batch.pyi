"""Types of `batch.pyx`."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tokkit._core.bpe import BPEEncoder
from tokkit._core.special import SpecialMatcher
from tokkit._core.text import Text

class Batch:
    def __init__(self, encoder: BPEEncoder, texts: Iterable[Text], matcher: SpecialMatcher | None) -> None: ...
    def run(self) -> None: ...
    def stop(self) -> None: ...
    def result(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
