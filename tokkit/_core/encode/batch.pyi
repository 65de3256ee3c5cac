"""Types of `batch.pyx`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.encode.plan import Encoder, Finder
from tokkit._core.text import Text

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
