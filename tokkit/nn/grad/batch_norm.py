"""`BatchNorm`: trainable batch norm, with running statistics for evaluation."""

from __future__ import annotations

import numpy as np

from tokkit._core.grad import backward as core
from tokkit.checks import as_float
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, current_threads
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.tape import Tape
from tokkit.nn.norms import BatchNormState


class BatchNorm:
    """Normalizes each column by its mean and variance over all rows, then multiplies by a weight and adds a bias.

    If the tape records, the mean and variance are those of the batch (variance divided by n), and `state` is updated
    with `momentum` (variance divided by n - 1), as in torch.nn.BatchNorm1d; with `momentum` None, `state` is the mean
    over all batches so far, and `batches` counts them. If the tape does not record, or `training` is False, the mean
    and variance are those of `state`, which does not change. Weights are NAME.weight and NAME.bias (dim). Statistics
    are float32 sums over chunks of rows, added in order: results have the same bits for any number of threads.

    Source: Ioffe and Szegedy 2015, Batch Normalization, algorithms 1 and 2.

    >>> weights = Parameters({"norm.weight": (1,), "norm.bias": (1,)})
    >>> weights.load({"norm.weight": np.float32([2]), "norm.bias": np.float32([0])})
    >>> norm, tape = BatchNorm(weights, "norm"), Tape()
    >>> norm.forward(np.float32([[1], [3]]), tape).round(3).ravel().tolist()
    [-2.0, 2.0]
    >>> dx = tape.backward(np.float32([[1], [1]]))  # what all rows have in common changes nothing
    >>> dx.ravel().tolist(), weights.grads["norm.bias"].tolist(), round(float(norm.state.mean[0]), 3)
    ([0.0, 0.0], [2.0], 0.2)
    """

    def __init__(
        self, weights: Parameters, name: str, *, eps: float = 1e-5, momentum: float | None = 0.1,
        state: BatchNormState | None = None,
    ) -> None:  # fmt: skip
        self.weight, self.weight_grad = weights.joined(f"{name}.weight")
        self.bias, self.bias_grad = weights.joined(f"{name}.bias")
        self.eps = as_float("eps", eps, greater_than=0)
        self.momentum = momentum
        if momentum is not None and not 0 <= as_float("momentum", momentum) <= 1:
            raise OptionError(f"momentum is {momentum}; it must be between 0 and 1, or None")
        self.state = BatchNormState.new(len(self.weight)) if state is None else state
        self.batches = 0
        self.training = True

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the normalized rows (n, dim); backward needs x. ShapeError if a training batch has one row or none."""
        n, dim, of_batch = len(x), len(self.weight), self.training and tape.recording
        if x.shape != (n, dim):
            raise ShapeError(f"x has shape {x.shape}; it must be (n, {dim})")
        if of_batch and n < 2:
            raise ShapeError(f"x has shape {x.shape}; training needs at least two rows for the statistics")
        state = self.state
        mean = np.empty(dim, dtype=np.float32) if of_batch else state.mean.copy()
        variance = np.empty(dim, dtype=np.float32) if of_batch else state.variance.copy()
        y, kept = tape.empty(n, dim), tape.keep(x)
        core.batch_norm(
            x, self.weight, self.bias, mean, variance, y, eps=self.eps, of_batch=of_batch, threads=current_threads()
        )
        if of_batch:
            self.batches += 1
            by = np.float32(1 / self.batches if self.momentum is None else self.momentum)
            state.mean += by * (mean - state.mean)
            state.variance += by * (variance * np.float32(n / (n - 1)) - state.variance)

        def back(dy: Floats) -> Floats:
            dx, weight_grad, bias_grad = tape.empty(n, dim), self.weight_grad, self.bias_grad
            if weight_grad is None or bias_grad is None:  # frozen: the sums are discarded
                weight_grad, bias_grad = np.zeros_like(self.weight), np.zeros_like(self.bias)
            core.batch_norm_back(
                dy, kept(), self.weight, mean, variance, dx, weight_grad, bias_grad, eps=self.eps, of_batch=of_batch,
                threads=current_threads(),
            )  # fmt: skip
            return dx

        tape.push(back)
        return y
