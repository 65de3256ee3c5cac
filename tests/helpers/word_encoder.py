"""An encoder without weights for tests of search: texts that share words have near vectors."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

import tokkit


class WordEncoder:
    """A vector for each word, drawn by its hash; that of a text is their sum, of length 1."""

    dimension = 64

    def __init__(self, tokenizer: tokkit.Tokenizer | None = None, *, seed: int = 0, max_length: int = 34) -> None:
        self.tokenizer = tokenizer or tokkit.train(iter(["a"]), vocab_size=256)
        self.seed, self.max_length = seed, max_length
        self.batches: list[list[str]] = []

    def fingerprint(self) -> str:
        return f"words-{self.seed}"

    def encode(self, sentences: Sequence[str], *, normalize: bool = True, threads: int | None = None) -> np.ndarray:
        self.batches.append(list(sentences))
        made = np.array([self._vector(text) for text in sentences], dtype=np.float32).reshape(-1, self.dimension)
        assert normalize
        return made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), np.float32(1e-9))

    def _vector(self, text: str) -> np.ndarray:
        found = np.zeros(self.dimension)
        for word in re.findall(r"\w+", text.casefold()):
            found += np.random.default_rng([zlib.crc32(word.encode()), self.seed]).standard_normal(self.dimension)
        return found
