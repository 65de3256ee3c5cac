"""The head of masked language models: hidden states → logits of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.nn.arrays import Floats, floats, take
from tokkit.nn.linear import Linear
from tokkit.nn.norms import LayerNorm

BLOCK = 8192
"""Rows of a 16-bit matrix that are converted at a time."""


class MaskedHead:
    """norm(activation(dense(x))) · matrixᵀ + bias, where the matrix is usually the table of words.

    Weights: dense.weight (dim, dim), dense.bias, norm.weight, norm.bias (dim), bias (vocab_size). `matrix`
    (vocab_size, dim) stays as it is stored: float32, float16, or bfloat16 as uint16. Source: Devlin et al. 2019, 3.1.

    >>> eye = np.eye(2, dtype=np.float32)
    >>> weights = {"dense.weight": eye, "norm.weight": np.ones(2), "norm.bias": np.zeros(2), "bias": np.zeros(2)}
    >>> MaskedHead(weights, eye, activation="relu")(np.array([[4.0, 1.0]], dtype=np.float32)).round(3).tolist()
    [[1.0, -1.0]]
    """

    def __init__(
        self, weights: Mapping[str, Any], matrix: NDArray[Any], *, activation: str = "gelu", eps: float = 1e-12
    ) -> None:
        dim = matrix.shape[1]
        self._dense, self._activation = Linear.of(weights, ("dense",)), activation
        self._norm = LayerNorm({part: weights[f"norm.{part}"] for part in ("weight", "bias")}, dim=dim, eps=eps)
        self._bias = take(weights, "bias", (len(matrix),))
        self._matrix = matrix

    def __call__(self, x: Floats) -> Floats:
        """Return logits (n, vocab_size) for x (n, dim)."""
        hidden = self._norm(self._dense(floats(x, "x"), activation=self._activation))
        made = np.empty((len(hidden), len(self._matrix)), dtype=np.float32)
        step = len(self._matrix) if self._matrix.dtype == np.float32 else BLOCK
        for first in range(0, len(self._matrix), max(step, 1)):
            block = self._matrix[first : first + step]
            if block.dtype == np.uint16:
                block = (block.astype(np.uint32) << 16).view(np.float32)
            np.matmul(hidden, block.astype(np.float32, copy=False).T, out=made[:, first : first + step])
        made += self._bias
        return made
