"""Layers with a backward pass: linear, norm, embedding, feed-forward, dropout, residual.

`forward(x, tape)` takes rows (tokens, columns), returns rows, and pushes its backward function on the tape. Gradients
of weights are accumulated, so that one step can use several batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit._core.grad import backward as grad_core
from tokkit._core.nn import rows as core
from tokkit.checks import as_float
from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats, current_threads
from tokkit.nn.config import GATES, TransformerConfig
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.tape import Tape


class Layer(Protocol):
    """A layer inside a residual block."""

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the output of the layer for these rows."""


class Linear:
    """y = x Wᵀ + b, for one matrix or several adjacent ones, used as one; b is optional."""

    def __init__(self, weights: Parameters, *names: str, bias: str | None = None) -> None:
        self.weight, self.grad = weights.joined(*(f"{name}.weight" for name in names))
        self.bias: Floats | None = None
        self.bias_grad: Floats | None = None
        biases = [f"{name}.bias" for name in names] if bias is None else [bias]
        if biases[0] in weights:
            self.bias, self.bias_grad = weights.joined(*biases)

    def run(self, x: Floats, tape: Tape) -> Floats:
        """Return y; nothing is pushed on the tape."""
        y = tape.empty(len(x), len(self.weight))
        tape.matmul(x, self.weight.T, y, bias=self.bias)
        return y

    def input_gradient(self, dy: Floats, tape: Tape) -> Floats:
        """Return the gradient of x, dy W."""
        dx = tape.empty(len(dy), self.weight.shape[1])
        tape.matmul(dy, self.weight, dx)
        return dx

    def add_gradients(self, dy: Floats, x: Floats, tape: Tape) -> None:
        """Add dyᵀ x to the gradient of W, and the sum of the rows of dy to that of b."""
        if self.grad is not None:
            tape.matmul(dy.T, x, self.grad, self.grad, sums=self.bias_grad)
        elif self.bias_grad is not None:
            grad_core.add_column_sums(dy, self.bias_grad, threads=current_threads())

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return y; backward needs x."""
        y, kept = self.run(x, tape), tape.keep(x)

        def back(dy: Floats) -> Floats:
            self.add_gradients(dy, kept(), tape)
            return self.input_gradient(dy, tape)

        tape.push(back)
        return y


class LoraLinear(Linear):
    """y = x Wᵀ + b + scale (x Aᵀ) Bᵀ; matrices without an adapter have no A and B. See `lora.py`."""

    def __init__(self, weights: Parameters, *names: str) -> None:
        super().__init__(weights, *names)
        ends = np.cumsum([len(weights[f"{name}.weight"]) for name in names]).tolist()
        places = {name: slice(end - len(weights[f"{name}.weight"]), end) for name, end in zip(names, ends, strict=True)}
        places[joined_name(names)] = slice(0, ends[-1])
        self._parts = [
            (place, weights.adapters[name], *weights.joined(f"{name}.lora_A.weight"),
             *weights.joined(f"{name}.lora_B.weight"))
            for name, place in places.items() if name in weights.adapters
        ]  # fmt: skip

    def _product(self, a: Floats, b: Floats, tape: Tape, scale: float) -> Floats:
        c = tape.empty(len(a), b.shape[1])
        grad_core.matmul(a, b, c, room=tape.room, threads=current_threads())
        c *= np.float32(scale)
        return c

    def run(self, x: Floats, tape: Tape) -> Floats:
        """Return y; nothing is pushed on the tape."""
        y = super().run(x, tape)
        for place, scale, a, _, b, _ in self._parts:
            inner = self._product(x, a.T, tape, scale)
            grad_core.matmul(inner, b.T, y[:, place], y[:, place], room=tape.room, threads=current_threads())
        return y

    def input_gradient(self, dy: Floats, tape: Tape) -> Floats:
        """Return the gradient of x."""
        dx = super().input_gradient(dy, tape)
        for place, scale, a, _, b, _ in self._parts:
            inner = self._product(dy[:, place], b, tape, scale)
            grad_core.matmul(inner, a, dx, dx, room=tape.room, threads=current_threads())
        return dx

    def add_gradients(self, dy: Floats, x: Floats, tape: Tape) -> None:
        """Add to the gradients of A and B, and to those of W and b if they are trained."""
        super().add_gradients(dy, x, tape)
        for place, scale, a, a_grad, b, b_grad in self._parts:
            if a_grad is None or b_grad is None:
                continue
            inner = self._product(x, a.T, tape, scale)
            grad_core.matmul(dy[:, place].T, inner, b_grad, b_grad, room=tape.room, threads=current_threads())
            inner = self._product(dy[:, place], b, tape, scale)
            grad_core.matmul(inner.T, x, a_grad, a_grad, room=tape.room, threads=current_threads())


def joined_name(names: Sequence[str]) -> str:
    """Return the name that some files use for joined matrices: attention.qkv for attention.q, .k and .v."""
    return names[0].rpartition(".")[0] + "." + "".join(name.rpartition(".")[2] for name in names)


def linear_of(weights: Parameters, *names: str) -> Linear:
    """Return the layer of one matrix or several adjacent ones, with adapters if the weights have them."""
    if weights.adapters.keys() & {*names, joined_name(names)}:
        return LoraLinear(weights, *names)
    return Linear(weights, *names)


class NormConfig(Protocol):
    """The options of a norm."""

    @property
    def norm(self) -> str | None:
        """Return "layer" or "rms"."""

    @property
    def eps(self) -> float:
        """Return what is added to the variance."""


class Norm:
    """Layer norm or RMS norm, depending on `config.norm`; layer norm has a bias if the weights have it."""

    def __init__(self, weights: Parameters, name: str, config: NormConfig) -> None:
        self.weight, self.weight_grad = weights.joined(f"{name}.weight")
        self.centred, self.eps = config.norm == "layer", config.eps
        self.bias: Floats | None = None
        self.bias_grad: Floats | None = None
        if self.centred and f"{name}.bias" in weights:
            self.bias, self.bias_grad = weights.joined(f"{name}.bias")

    def run(self, x: Floats, tape: Tape) -> Floats:
        """Return the norm of each row; nothing is pushed on the tape."""
        y = tape.empty(*x.shape)
        core.norm(x, y, self.weight, self.bias, eps=self.eps, centred=self.centred, threads=current_threads())
        return y

    def back(self, dy: Floats, x: Floats, tape: Tape, add: Floats | None = None) -> Floats:
        """Return the gradient of x, plus `add` if given."""
        dx, weight_grad, bias_grad = tape.empty(*x.shape), self.weight_grad, self.bias_grad
        if weight_grad is None:  # frozen: the sums are discarded
            weight_grad, bias_grad = np.zeros_like(self.weight), None
        grad_core.norm_back(
            dy, x, self.weight, dx, weight_grad, bias_grad, add=add, eps=self.eps, centred=self.centred,
            threads=current_threads(),
        )  # fmt: skip
        return dx

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the norm of each row; backward needs only x, and computes mean and deviation again."""
        tape.push(lambda dy: self.back(dy, x, tape))
        return self.run(x, tape)


class Embedding:
    """Rows of the token table, plus those of the position table if the weights have one."""

    def __init__(self, weights: Parameters) -> None:
        self.table, self.grad = weights.joined("word.weight")
        self.positions: Floats | None = None
        self.positions_grad: Floats | None = None
        if "position.weight" in weights:
            self.positions, self.positions_grad = weights.joined("position.weight")

    def forward(self, ids: NDArray[np.int64], tape: Tape) -> Floats:
        """Return rows (B T, dim) for ids (B, T)."""
        flat, n = ids.reshape(-1), ids.shape[1]
        x = tape.empty(len(flat), self.table.shape[1])
        core.gather(self.table, flat, x, threads=current_threads())
        if self.positions is not None:
            x.reshape(*ids.shape, -1)[...] += self.positions[:n]

        def back(dy: Floats) -> Floats:
            if self.grad is not None:
                grad_core.scatter_add(dy, flat, self.grad, threads=current_threads())
            if self.positions_grad is not None:
                for text in dy.reshape(*ids.shape, -1):
                    self.positions_grad[:n] += text
            return dy

        tape.push(back)
        return x


class FeedForward:
    """down(activation(up(x))), or down(activation(gate(x)) * up(x)); backward recomputes the input of `down`."""

    def __init__(self, weights: Parameters, prefix: str, config: TransformerConfig) -> None:
        self.gated = config.activation in GATES
        self.activation = GATES.get(config.activation, config.activation)
        self.up = linear_of(weights, *(f"{prefix}.{name}" for name in (("gate", "up") if self.gated else ("up",))))
        self.down = linear_of(weights, f"{prefix}.down")

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return rows with the same number of columns."""
        inner, columns = self.up.forward(x, tape), self.down.weight.shape[1]
        kept = tape.keep(inner)
        middle = tape.empty(len(x), columns)
        gate, up = inner[:, :columns], inner[:, columns:]
        if self.gated:
            core.gate(gate, up, middle, self.activation, threads=current_threads())
        else:
            core.activate(inner, middle, self.activation, threads=current_threads())

        def back(dy: Floats) -> Floats:
            inner, d_middle, again = kept(), self.down.input_gradient(dy, tape), tape.empty(len(dy), columns)
            gate, up = inner[:, :columns], inner[:, columns:]
            # The gradients overwrite `inner`, which is not read again.
            if self.gated:
                grad_core.gate_back(d_middle, gate, up, gate, up, self.activation, again, threads=current_threads())
            else:
                grad_core.activate_back(d_middle, inner, inner, self.activation, again, threads=current_threads())
            self.down.add_gradients(dy, again, tape)
            return inner

        tape.push(back)
        return self.down.run(middle, tape)


class Dropout:
    """Sets numbers to 0 with probability p in training; `seed` decides which, and each layer has a different one."""

    def __init__(self, p: float, name: str = "dropout") -> None:
        self.p, self.seed = as_float(name, p, minimum=0), 0
        if p >= 1:
            raise OptionError(f"{name} is {p}; it must be below 1")

    def now(self, tape: Tape) -> tuple[float, int]:
        """Return p (0 if the tape does not record) and the seed."""
        return (self.p if tape.recording else 0.0), self.seed

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Apply dropout to x in place, if p is above 0 and the tape records."""
        p, seed = self.now(tape)
        if not p:
            return x
        grad_core.drop_out(x, x, p, seed, threads=current_threads())

        def back(dy: Floats) -> Floats:
            dx = tape.empty(*dy.shape)
            grad_core.drop_out(dy, dx, p, seed, threads=current_threads())
            return dx

        tape.push(back)
        return x


class Before(Protocol):
    """What is applied before the parts of a residual block: a norm, or nothing."""

    def run(self, x: Floats, tape: Tape) -> Floats:
        """Return the input of the parts; nothing is pushed on the tape."""

    def back(self, dy: Floats, x: Floats, tape: Tape, add: Floats | None = None) -> Floats:
        """Return the gradient of x, plus `add` if given."""


class Residual:
    """x + parts(norm(x)): the residual block of a pre-norm transformer."""

    def __init__(self, norm: Before, parts: Sequence[Layer]) -> None:
        self.norm, self.parts = norm, parts

    def forward(self, x: Floats, tape: Tape) -> Floats:
        """Return the sum."""
        kept: list[Floats] = []
        tape.push(lambda dy: self.norm.back(dy, x, tape, add=kept.pop()))
        y = self.norm.run(x, tape)
        for part in self.parts:
            y = part.forward(y, tape)
        np.add(x, y, out=y)

        def back(dy: Floats) -> Floats:
            kept.append(dy)
            return dy

        tape.push(back)
        return y


def activated(x: Floats, activation: str, tape: Tape) -> Floats:
    """Return the activation of rows; backward overwrites x, so no other layer may read x."""
    y = tape.empty(*x.shape)
    core.activate(x, y, activation, threads=current_threads())

    def back(dy: Floats) -> Floats:
        grad_core.activate_back(dy, x, x, activation, threads=current_threads())
        return x

    tape.push(back)
    return y


def taken_rows(x: Floats, places: NDArray[np.int64], tape: Tape) -> Floats:
    """Return the rows at `places`, which must be distinct; the gradient of all other rows is 0."""
    shape, y = x.shape, tape.empty(len(places), x.shape[1])
    core.gather(x, places, y, threads=current_threads())

    def back(dy: Floats) -> Floats:
        dx = tape.empty(*shape)
        dx[...] = 0
        dx[places] = dy
        return dx

    tape.push(back)
    return y


def seed_dropouts(dropouts: Sequence[Dropout], seed: int) -> None:
    """Set a different seed for each dropout layer, derived from `seed`."""
    for place, dropout in enumerate(dropouts):
        dropout.seed = (seed << 16) + place & (1 << 64) - 1
