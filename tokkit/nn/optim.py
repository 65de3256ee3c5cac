"""Optimizers: AdamW and SGD over all weights as one array, gradient clipping, a schedule, and weight averages (EMA).

Every step changes `Parameters` in place. Results have the same bits for any number of threads.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tokkit._core.grad import optim as core
from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError, ShapeError, TrainingError
from tokkit.nn.arrays import Floats, current_threads
from tokkit.nn.grad.parameters import Parameters

__all__ = ["MAX_BAD_STEPS", "SGD", "AdamW", "StepReport", "WarmupCosine", "WeightAverage"]

MAX_BAD_STEPS = 3
"""`step` raises TrainingError at this number of consecutive steps with non-finite gradients."""


@dataclass(frozen=True, slots=True)
class StepReport:
    """The result of a step: the norm of all gradients before clipping, and whether the step was skipped."""

    norm: float
    skipped: bool


class _Optimizer(ABC):
    """The base class of optimizers: the norm of gradients, clipping, and skipped steps."""

    def __init__(self, parameters: Parameters, *, lr: float, weight_decay: float, max_norm: float | None) -> None:
        self.parameters = parameters
        self.lr = as_float("lr", lr, minimum=0)
        self.weight_decay = as_float("weight_decay", weight_decay, minimum=0)
        self.max_norm = None if max_norm is None else as_float("max_norm", max_norm, greater_than=0)
        self.steps = 0
        """The number of steps, without skipped ones."""
        self.skipped = 0
        """The total number of skipped steps."""
        self._bad = 0

    def step(self, lr: float | None = None) -> StepReport:
        """Update the weights with their gradients, then set the gradients to 0; `lr` replaces the optimizer's `lr`.

        If the norm of the gradients is above `max_norm`, they are scaled down to this norm. A step with non-finite
        gradients is skipped and counted; the third in a row raises TrainingError, which names a weight.
        """
        p = self.parameters
        norm = math.sqrt(core.sum_of_squares(p.grad, threads=current_threads()))
        rate = self.lr if lr is None else as_float("lr", lr, minimum=0)
        skipped = not math.isfinite(norm)
        if skipped:
            self.skipped += 1
            self._bad += 1
            if self._bad >= MAX_BAD_STEPS:
                name = p.first_bad_gradient()
                raise TrainingError(
                    f"the gradients of {self._bad} steps in a row are not finite"
                    + (f", first that of {name}" if name else ": they are too large")
                    + f"; the learning rate, {rate:g}, may be too high"
                )
        else:
            self._bad = 0
            self.steps += 1
            by = 1.0 if self.max_norm is None or norm <= self.max_norm else self.max_norm / norm
            # Norms and biases, which come after the matrices, have no weight decay.
            for part, decay in ((slice(p.n_matrices), self.weight_decay), (slice(p.n_matrices, None), 0.0)):
                self._change(part, rate, decay, by)
        p.grad.fill(0)
        return StepReport(norm, skipped)

    @abstractmethod
    def _change(self, part: slice, lr: float, decay: float, by: float) -> None:
        """Update the weights in the slice `part`; their gradients are multiplied by `by`."""

    @abstractmethod
    def state(self) -> dict[str, Floats]:
        """Return name → array of the optimizer state, without a copy; `load_state` copies from such arrays."""

    def load_state(self, state: dict[str, Floats], *, steps: int) -> None:
        """Continue from a state after `steps` steps; ShapeError if an array is missing or has a wrong shape."""
        for name, array in self.state().items():
            if name not in state or state[name].shape != array.shape:
                given = "missing" if name not in state else f"of shape {state[name].shape}"
                raise ShapeError(f"the optimizer's {name} is {given}; it must have shape {array.shape}")
            array[:] = state[name]
        self.steps = as_int("steps", steps, minimum=0)


class AdamW(_Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), in one pass over all weights.

    Each step decays matrices by lr · `weight_decay`; norms and biases have no weight decay. `betas` are the decay rates
    of the averages of gradients and of their squares. `max_norm` limits the norm of all gradients together; None is no
    limit. Invalid settings raise OptionError.

    >>> p = Parameters({"w.weight": (1, 2)})
    >>> p.data[:], p.grad[:] = 1, [3, -4]
    >>> AdamW(p, lr=0.1, weight_decay=0).step()
    StepReport(norm=5.0, skipped=False)
    >>> p["w.weight"]
    array([[0.9, 1.1]], dtype=float32)
    """

    def __init__(
        self, parameters: Parameters, *, lr: float, betas: tuple[float, float] = (0.9, 0.95), eps: float = 1e-8,
        weight_decay: float = 0.1, max_norm: float | None = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(parameters, lr=lr, weight_decay=weight_decay, max_norm=max_norm)
        self.betas = tuple(as_float("each of betas", beta, minimum=0) for beta in betas)
        if len(self.betas) != 2 or max(self.betas) >= 1:
            raise OptionError(f"betas are {betas!r}; they must be two numbers of at least 0 and below 1")
        self.eps = as_float("eps", eps, greater_than=0)
        self._means, self._squares = np.zeros_like(parameters.data), np.zeros_like(parameters.data)

    def _change(self, part: slice, lr: float, decay: float, by: float) -> None:
        p, (beta1, beta2) = self.parameters, self.betas
        core.adamw_step(
            p.data[part], p.grad[part], self._means[part], self._squares[part], lr=lr, beta1=beta1, beta2=beta2,
            eps=self.eps, decay=decay, by=by, number=self.steps, threads=current_threads(),
        )  # fmt: skip

    def state(self) -> dict[str, Floats]:
        """Return the averages of gradients ("means") and of their squares ("squares")."""
        return {"means": self._means, "squares": self._squares}


class SGD(_Optimizer):
    """Gradient descent, with momentum unless it is 0: v = momentum v + g, p = p - lr v, as in torch.

    `weight_decay` · p is added to the gradients of matrices. `max_norm` is as in `AdamW`.
    """

    def __init__(
        self, parameters: Parameters, *, lr: float, momentum: float = 0.9, weight_decay: float = 0.0,
        max_norm: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parameters, lr=lr, weight_decay=weight_decay, max_norm=max_norm)
        self.momentum = as_float("momentum", momentum, minimum=0)
        if self.momentum >= 1:
            raise OptionError(f"momentum is {momentum!r}; it must be below 1")
        self._sums = np.zeros_like(parameters.data) if self.momentum else None

    def _change(self, part: slice, lr: float, decay: float, by: float) -> None:
        p, sums = self.parameters, None if self._sums is None else self._sums[part]
        core.sgd_step(
            p.data[part], p.grad[part], sums, lr=lr, momentum=self.momentum, decay=decay, by=by,
            threads=current_threads(),
        )  # fmt: skip

    def state(self) -> dict[str, Floats]:
        """Return the momentum buffer ("sums"), or an empty dict without momentum."""
        return {} if self._sums is None else {"sums": self._sums}


class WarmupCosine:
    """The learning rate by step, from step 0: linear warmup over `warmup` steps, then cosine decay to `floor` · lr.

    >>> rate = WarmupCosine(lr=1.0, steps=10, warmup=2, floor=0.1)
    >>> [round(rate(step), 2) for step in (0, 1, 2, 6, 9, 50)]
    [0.5, 1.0, 1.0, 0.55, 0.13, 0.1]
    """

    def __init__(self, *, lr: float, steps: int, warmup: int = 0, floor: float = 0.1) -> None:
        self.lr, self.floor = as_float("lr", lr, minimum=0), as_float("floor", floor, minimum=0)
        self.steps, self.warmup = as_int("steps", steps, minimum=1), as_int("warmup", warmup, minimum=0)

    def __call__(self, step: int) -> float:
        """Return the learning rate of a step."""
        if step < self.warmup:
            return self.lr * (step + 1) / self.warmup
        share = min((step - self.warmup) / max(self.steps - self.warmup, 1), 1.0)
        return self.lr * (self.floor + (1 - self.floor) * (1 + math.cos(math.pi * share)) / 2)


class WeightAverage:
    """A running average of weights (EMA): after each step, average · decay + weights · (1 - decay).

    In the first steps the decay is smaller, (1 + n) / (10 + n) in step n, so that the initial weights soon have little
    effect on the average.
    """

    def __init__(self, parameters: Parameters, decay: float = 0.999) -> None:
        self.parameters, self.decay, self.steps = parameters, as_float("decay", decay, minimum=0), 0
        if self.decay >= 1:
            raise OptionError(f"decay is {decay!r}; it must be below 1")
        self.data = parameters.data.copy()
        """The averaged weights, with the layout of `Parameters.data`."""

    def update(self) -> None:
        """Update the average with the current weights."""
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        core.average_step(self.data, self.parameters.data, decay, threads=current_threads())

    def swap(self) -> None:
        """Exchange the weights and their average: call it before and after an evaluation."""
        kept = self.data.copy()
        self.data[:] = self.parameters.data
        self.parameters.data[:] = kept
