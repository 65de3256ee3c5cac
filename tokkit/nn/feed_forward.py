"""The feed-forward part of a layer: two matrices, or three with a gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit._core.nn import rows as kernels
from tokkit._core.nn.linear import PackedLinear
from tokkit.nn.arrays import Floats, added_rows, current_threads, floats, matrix, take_all
from tokkit.nn.config import GATES, TransformerConfig
from tokkit.nn.linear import Linear, buffer


class FeedForward:
    """down(activation(up(x))), or down(activation(gate(x)) * up(x)) for those with a gate: `GATES`.

    Weights: see `TransformerConfig.feed_forward_shapes`. Source: Vaswani et al. 2017, 3.3; Shazeer 2020.
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        taken = take_all(weights, config.feed_forward_shapes())
        self.config = config
        gate = GATES.get(config.activation)
        self._gate = gate
        self._up = Linear.of(taken, ("gate", "up") if gate else ("up",), dtype=config.dtype)
        self._down = Linear.of(taken, ("down",), dtype=config.dtype)

    @property
    def packed(self) -> tuple[PackedLinear, PackedLinear]:
        """The matrices up (with the gate before it) and down."""
        return self._up.packed, self._down.packed

    def __call__(self, x: ArrayLike, *, residual: ArrayLike | None = None) -> Floats:
        """Return (…, dim) for x (…, dim), plus residual (…, dim) if given; ShapeError for inconsistent shapes."""
        made, hidden = floats(x, "x"), self.config.hidden
        rows = matrix(made, "x", self.config.dim)
        more = added_rows(residual, made.shape)
        middle = buffer(len(rows), self._up.shape[0])
        if self._gate is None:
            self._up.rows(rows, middle, self.config.activation)
        else:
            self._up.rows(rows, middle)
            left, right = middle[:, :hidden], middle[:, hidden:]
            kernels.gate(left, right, left, self._gate, threads=current_threads())
            middle = left
        out = np.empty((len(rows), self.config.dim), dtype=np.float32)
        return self._down.rows(middle, out, "identity", more).reshape(made.shape)
