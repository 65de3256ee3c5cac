"""Layer, RMS and batch norm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, floats, take
from tokkit.nn.functional import layer_norm, rms_norm


class LayerNorm:
    """Layer norm over the last axis, with weight (dim) and bias (dim, or none); other shapes raise ShapeError."""

    def __init__(self, weights: Mapping[str, Any], *, dim: int, eps: float = 1e-5) -> None:
        dim = as_int("dim", dim, minimum=0)
        self.weight = take(weights, "weight", (dim,))
        self.bias = take(weights, "bias", (dim,)) if "bias" in weights else None
        self.eps = eps

    def __call__(self, x: ArrayLike, *, residual: ArrayLike | None = None, out: Floats | None = None) -> Floats:
        """Return the norm (…, dim) of x + residual, both (…, dim), else ShapeError; `out` as in `layer_norm`."""
        return layer_norm(x, self.weight, self.bias, eps=self.eps, residual=residual, out=out)


class RMSNorm:
    """RMS norm over the last axis, with weight (dim); another shape raises ShapeError."""

    def __init__(self, weights: Mapping[str, Any], *, dim: int, eps: float = 1e-6) -> None:
        self.weight = take(weights, "weight", (as_int("dim", dim, minimum=0),))
        self.eps = eps

    def __call__(self, x: ArrayLike, *, residual: ArrayLike | None = None, out: Floats | None = None) -> Floats:
        """Return the norm (…, dim) of x + residual, both (…, dim), else ShapeError; `out` as in `layer_norm`."""
        return rms_norm(x, self.weight, eps=self.eps, residual=residual, out=out)


@dataclass(slots=True)
class BatchNormState:
    """Running mean and variance (dim) of the batches seen: what batch norm uses outside training."""

    mean: Floats
    variance: Floats

    @classmethod
    def new(cls, dim: int) -> BatchNormState:
        """Return mean 0 and variance 1, both (dim); a negative `dim` raises OptionError."""
        dim = as_int("dim", dim, minimum=0)
        return cls(np.zeros(dim, dtype=np.float32), np.ones(dim, dtype=np.float32))


class BatchNorm:
    """Batch norm (Ioffe and Szegedy 2015): normalizes each column by its mean and variance over all rows.

    In training it uses those of the batch (variance divided by n), and moves `state` towards them by `momentum`
    (variance divided by n - 1, as in torch); otherwise it uses those of the state. Weights: weight and bias (dim).

    >>> norm = BatchNorm({"weight": np.full(1, 0.5), "bias": np.full(1, 0.1)}, dim=1)
    >>> norm(np.array([[7.0], [2], [5], [4]]), training=True).round(4).ravel()
    array([ 0.7934, -0.5934,  0.2387, -0.0387], dtype=float32)
    """

    def __init__(self, weights: Mapping[str, Any], *, dim: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        dim = as_int("dim", dim, minimum=0)
        self.weight, self.bias = take(weights, "weight", (dim,)), take(weights, "bias", (dim,))
        self.eps, self.momentum = eps, momentum

    def __call__(self, x: ArrayLike, *, state: BatchNormState | None = None, training: bool = False) -> Floats:
        """Return x (…, dim) normalized; outside training `state` is required, in training it is updated if given.

        ShapeError if x or the state does not have `dim` columns, or if there are fewer than two rows in training.
        """
        made = floats(x, "x")
        dim = self.weight.shape[0]
        if made.ndim < 2 or made.shape[-1] != dim:
            raise ShapeError(f"x has shape {made.shape}; it must be (…, {dim}) with at least two axes")
        if state is not None and not state.mean.shape == state.variance.shape == (dim,):
            raise ShapeError(
                f"x has shape {made.shape}, the state's mean {state.mean.shape} and variance {state.variance.shape}; "
                f"these must be ({dim},)"
            )
        if not training:
            if state is None:
                raise OptionError("batch norm outside training needs the running statistics; give state")
            mean, variance = state.mean.astype(np.float64), state.variance.astype(np.float64)
        else:
            rows = made.reshape(-1, dim).astype(np.float64)
            if len(rows) < 2:
                raise ShapeError(f"x has shape {made.shape}; training needs at least two rows")
            mean, variance = rows.mean(0), rows.var(0)
            if state is not None:
                kept, n = 1 - self.momentum, len(rows)
                state.mean[:] = kept * state.mean + self.momentum * mean
                state.variance[:] = kept * state.variance + self.momentum * variance * n / (n - 1)
        by = self.weight / np.sqrt(variance + self.eps)
        return (made * by + (self.bias - mean * by)).astype(np.float32)
