"""The state of GloVe: vectors and biases with AdaGrad's sums of squares, and their file, without pickle."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.files.strict_json import typed, why

LANES, LINE = 16, 64
"""Half a state is padded to a multiple of this many floats; states are aligned to this many bytes (csrc/embed/glove.h).
"""
_KEY = "tokkit.glove"


@dataclass
class GloVeState:
    """`arrays` (2, n_words, 2, step): of words and of contexts, a row (d dimensions, bias, 1) and its sums of squares.

    The row of a context has the 1 before the bias; `step` is d + 2, padded to a multiple of 16.
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64] | None
    vector_size: int
    arrays: NDArray[np.float32]
    losses: list[float] = field(default_factory=list)
    tally: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    """Records in all epochs, the sum of losses of this epoch, and records per epoch: the position of an interrupted
    epoch.
    """

    @classmethod
    def drawn(cls, words: tuple[str, ...], counts: NDArray[np.int64] | None, vector_size: int, seed: int) -> GloVeState:
        """Return vectors and biases, uniform in ±1/2d, and sums of squares of 1."""
        arrays = _aligned((2, len(words), 2, _step(vector_size)))
        arrays[:, :, 0], arrays[:, :, 1] = 0, 1
        drawn = np.random.default_rng(seed).random((2, len(words), vector_size + 1), dtype=np.float32)
        drawn -= 0.5
        drawn /= vector_size
        arrays[:, :, 0, :vector_size] = drawn[:, :, :vector_size]
        arrays[0, :, 0, vector_size], arrays[0, :, 0, vector_size + 1] = drawn[0, :, vector_size], 1
        arrays[1, :, 0, vector_size], arrays[1, :, 0, vector_size + 1] = 1, drawn[1, :, vector_size]
        return cls(words, counts, vector_size, arrays)

    def vectors(self) -> NDArray[np.float32]:
        """Return w + w̃ of each word."""
        return np.asarray(self.arrays[0, :, 0, : self.vector_size] + self.arrays[1, :, 0, : self.vector_size])

    def rates(self, learning_rate: float) -> NDArray[np.float32]:
        """Return the learning rate of each column, for words and for contexts: 1 for biases, 0 for constants."""
        made = np.zeros((2, self.arrays.shape[3]), np.float32)
        made[:, : self.vector_size] = learning_rate
        made[0, self.vector_size] = made[1, self.vector_size + 1] = 1
        return made

    def save(self, path: str | os.PathLike[str], options: dict[str, Any]) -> None:
        """Write a file atomically."""
        # The words are a tensor, because the size of the header is limited.
        tensors: dict[str, Any] = {"states": self.arrays}
        tensors["words"] = np.frombuffer(json.dumps(self.words).encode(), dtype=np.uint8)
        if self.counts is not None:
            tensors["counts"] = self.counts
        about = {"options": options, "losses": self.losses, "tally": self.tally.tolist()}
        write_safetensors(path, tensors, {_KEY: json.dumps(about)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> tuple[GloVeState, dict[str, Any]]:
        """Return the state written by `save`, and the options; FormatError for another file."""
        shown = os.fspath(path)
        tensors = read_safetensors(path)
        try:
            about = json.loads(tensors.metadata[_KEY])
            options, losses = dict(about["options"]), [float(loss) for loss in about["losses"]]
            tally = np.array(about["tally"], dtype=np.float64).reshape(3)
            size = typed(options["vector_size"], "options.vector_size", int)
            words = tuple(json.loads(tensors["words"].data.tobytes()))
            counts = np.array(tensors["counts"].data, dtype=np.int64) if "counts" in tensors else None
            found = tensors["states"]
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise FormatError(f"{shown} is not a GloVe model saved by tokkit: {why(error)}") from None
        shape = (2, len(words), 2, _step(size))
        if found.dtype != "F32" or found.shape != shape or (counts is not None and counts.shape != (len(words),)):
            raise FormatError(
                f"{shown}: states is {found.dtype} {found.shape}; with these words it must be F32 {shape}"
            )
        arrays = _aligned(shape)
        arrays[:] = found.data
        return cls(words, counts, size, arrays, losses, tally), options


def _step(vector_size: int) -> int:
    return -(-(vector_size + 2) // LANES) * LANES


def _aligned(shape: tuple[int, ...]) -> NDArray[np.float32]:
    size = int(np.prod(shape, dtype=np.int64))
    memory = np.empty(size + LINE // 4, np.float32)
    first = -memory.ctypes.data % LINE // 4
    return memory[first : first + size].reshape(shape)
