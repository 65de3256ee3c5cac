"""Cross-entropy fused with the output matrix: logits are computed in blocks of rows, never all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit._core.grad import backward as core
from tokkit.nn.arrays import Floats, current_threads
from tokkit.nn.grad.layers import Linear
from tokkit.nn.grad.tape import Tape

HEAD_NUMBERS = 1 << 22
"""The number of logits in memory at a time; the full matrix (tokens, vocab_size) is never in memory."""


def loss_of_rows(
    head: Linear, hidden: Floats, targets: NDArray[np.int64], tape: Tape, share: float | None
) -> tuple[float, Floats]:
    """Return the mean loss of rows (n, dim), and the gradient of `hidden` unless `share` is None.

    Rows with a target below 0 are ignored. Gradients of the head, times `share`, are added to those it already has.
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
