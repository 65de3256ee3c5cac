"""Cross-entropy fused with the matrix before it: logits exist in blocks of rows, never all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit._core import grad as core
from tokkit.nn.arrays import Floats, current_threads
from tokkit.nn.grad.layers import Linear
from tokkit.nn.grad.tape import Tape

HEAD_NUMBERS = 1 << 22
"""Logits that are in memory at a time: the matrix of all tokens and the whole vocabulary never is."""


def loss_of_rows(
    head: Linear, hidden: Floats, targets: NDArray[np.int64], tape: Tape, share: float | None
) -> tuple[float, Floats]:
    """Return the mean loss of rows (n, dim), and the gradient of `hidden` unless `share` is None.

    Rows whose target is below 0 have neither. Gradients of the head, times `share`, are added to its own.
    """
    count = int((targets >= 0).sum())
    vocab_size, threads = len(head.weight), current_threads()
    losses = np.empty(len(hidden), dtype=np.float32)
    grad = hidden if share is None else tape.empty(*hidden.shape)
    step = max(HEAD_NUMBERS // vocab_size, 64)
    for first in range(0, len(hidden), step):
        rows = slice(first, min(first + step, len(hidden)))
        logits = head.run(hidden[rows], tape)
        core.cross_entropy_back(logits, targets[rows], logits, losses[rows], (share or 0.0) / count, threads=threads)
        if share is not None:
            head.add_gradients(logits, hidden[rows], tape)
            tape.matmul(logits, head.weight, grad[rows])
    return float(losses.sum(dtype=np.float64)) / count, grad
