"""GloVe's loss, its gradient and AdaGrad, pair by pair in float64: the twin of csrc/embed/glove_loops.h."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CUT = 100.0


def weight(x: float, x_max: float = 100.0, alpha: float = 0.75) -> float:
    return min(1.0, (x / x_max) ** alpha)


def loss(w: Floats, c: Floats, b: float, b_c: float, x: float, f: float) -> float:
    """Half of f(x) (w·c + b + b_c − log x)²."""
    return float(0.5 * f * (w @ c + b + b_c - np.log(x)) ** 2)


def gradients(w: Floats, c: Floats, b: float, b_c: float, x: float, f: float) -> tuple[Floats, Floats, float, float]:
    """The derivatives of that by w, c, b and b_c."""
    by = f * (w @ c + b + b_c - np.log(x))
    return by * c, by * w, by, by


@dataclass
class Twin:
    """Vectors (n, d) and biases (n) of words and contexts, and AdaGrad's sums of squares of each."""

    w: Floats
    c: Floats
    b: Floats
    b_c: Floats
    squares: list[Floats] = field(init=False)

    def __post_init__(self) -> None:
        self.squares = [np.ones_like(x) for x in (self.w, self.c, self.b, self.b_c)]

    def epoch(
        self, pairs: list[tuple[int, int, float]], rate: float, x_max: float = 100.0, alpha: float = 0.75
    ) -> float:
        """Train on (word, context, count) in this order; return the mean loss before each update."""
        total = 0.0
        for i, j, x in pairs:
            now = self.w[i].copy(), self.c[j].copy(), self.b[i], self.b_c[j]
            f = weight(x, x_max, alpha)
            total += loss(*now, x, f)
            states, places = (self.w, self.c, self.b, self.b_c), (i, j, i, j)
            for k, gradient in enumerate(gradients(*now, x, f)):
                step = np.clip(gradient, -CUT, CUT) * (rate if k < 2 else 1.0)
                states[k][places[k]] -= step / np.sqrt(self.squares[k][places[k]])
                self.squares[k][places[k]] += step**2
        return total / len(pairs)
