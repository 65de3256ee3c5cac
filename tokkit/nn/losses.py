"""Losses: cross-entropy of logits and labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, floats, ids_of
from tokkit.nn.functional import log_softmax


def cross_entropy(
    logits: ArrayLike, targets: ArrayLike, *, ignore_index: int = -100, reduction: str = "mean"
) -> Floats | float:
    """Return -log softmax(logits)[target]: logits (…, vocab_size), targets (…) ids.

    Targets equal to `ignore_index` are ignored: 0 with reduction "none" (…), left out of "mean" (NaN if none is left,
    as in torch) and "sum". A target outside the vocabulary raises IndexError with its value; inconsistent shapes raise
    ShapeError, an unknown `reduction` OptionError.

    >>> round(cross_entropy([[2.0, 1.0, 0.1], [0.0, 0.0, 0.0]], [0, -100]), 4)
    0.417
    """
    made, wanted = floats(logits, "logits"), ids_of(targets, "targets")
    if made.ndim < 1 or made.shape[:-1] != wanted.shape:
        raise ShapeError(
            f"logits have shape {made.shape} and targets {wanted.shape}; targets must be (…) of (…, vocab)"
        )
    if reduction not in ("none", "mean", "sum"):
        raise OptionError(f"reduction is {reduction!r}; it must be 'none', 'mean' or 'sum'")
    ignore_index = as_int("ignore_index", ignore_index)
    counted = wanted != ignore_index
    outside = counted & ((wanted < 0) | (wanted >= made.shape[-1]))
    if outside.any():
        raise IndexError(
            f"a target is {int(wanted[outside][0])}; it must be below the vocabulary size, {made.shape[-1]}"
        )
    losses = np.zeros(wanted.shape, dtype=np.float32)
    if counted.any():
        logs = log_softmax(made[counted])
        losses[counted] = -np.take_along_axis(logs, wanted[counted][:, None], axis=1)[:, 0]
    if reduction == "none":
        return losses
    total = float(losses.sum(dtype=np.float64))
    if reduction == "sum":
        return total
    return total / int(counted.sum()) if counted.any() else float("nan")
