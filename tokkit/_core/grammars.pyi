"""Types of `grammars.pyx`."""

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

NO_RULE: int

class TokenTries:
    n_words: int
    def __init__(self, tokens: Sequence[bytes], ids: NDArray[np.uint32], n_words: int) -> None: ...

class GrammarMachine:
    lock: Lock
    n_bytes: int
    n_states: int
    def __init__(
        self,
        tries: TokenTries,
        first: TokenTries | None,
        first_edge: NDArray[np.uint32],
        first_jump: NDArray[np.uint32],
        low: NDArray[np.uint8],
        high: NDArray[np.uint8],
        target: NDArray[np.uint32],
        entry: NDArray[np.uint32],
        resume: NDArray[np.uint32],
        ends: NDArray[np.uint8],
        start: int,
        class_of: NDArray[np.uint8],
        example: NDArray[np.uint8],
        *,
        max_bytes: int,
    ) -> None: ...
    def cursor(self) -> GrammarCursor: ...

class GrammarCursor:
    accepts: bool
    def copy(self) -> GrammarCursor: ...
    def advance(self, text: bytes) -> int: ...
    def allowed(self) -> NDArray[np.uint32]: ...

def mask_logits(logits: NDArray[np.float32], words: NDArray[np.uint32]) -> None: ...
