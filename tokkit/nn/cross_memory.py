"""`Memory`: keys and values of each layer for the cross-attention of a decoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tokkit.nn.arrays import Floats
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.linear import Linear
from tokkit.nn.matrices import Matrices


@dataclass(frozen=True, slots=True)
class Memory:
    """Keys and values (n_layers, kv_heads, length, head_dim) of an encoder's output; several caches may share one."""

    keys: Floats
    values: Floats

    @property
    def length(self) -> int:
        """The number of tokens that the encoder read."""
        return int(self.keys.shape[2])

    @property
    def nbytes(self) -> int:
        """The bytes of memory that keys and values take."""
        return self.keys.nbytes + self.values.nbytes


class MemoryProjection:
    """Projects an encoder's output to the keys and values of all layers in one product. Immutable.

    Weights: layers.{i}.cross.k and layers.{i}.cross.v.
    """

    def __init__(self, config: DecoderConfig, matrices: Matrices) -> None:
        c = config.layers
        self._shape = c.n_layers, 2, c.kv_heads, c.head_size
        parts = {
            f"layers.{i}.cross.{part}": config.matrices(i)[f"cross.{part}.weight"]
            for i in range(c.n_layers) for part in "kv"
        }  # fmt: skip
        self._linear = Linear.over(matrices.pack("memory", parts))

    def __call__(self, hidden: Floats) -> Memory:
        """Return the memory of hidden states (length, memory_dim)."""
        rows = self._linear(hidden).reshape(len(hidden), *self._shape)
        keys, values = (np.ascontiguousarray(rows[:, :, part].transpose(1, 2, 0, 3)) for part in (0, 1))
        return Memory(keys, values)
