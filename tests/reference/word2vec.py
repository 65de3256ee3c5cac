"""Word2vec pair by pair as in its papers (Mikolov et al. 2013), in float64, with the random numbers of the core."""

from __future__ import annotations

from typing import Any

import numpy as np

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    x = (x + GOLDEN) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


class Random:
    def __init__(self, seed: int, which: int) -> None:
        self.state = mix(mix(seed & MASK) ^ which)

    def __call__(self) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return self.state >> 32


def loss_of(x: np.ndarray, rows: np.ndarray, signs: np.ndarray) -> float:
    """-log of the probabilities σ(sign · row · x)."""
    return float(np.logaddexp(0, -signs * (rows @ x)).sum())


def gradients(x: np.ndarray, rows: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of `loss_of`, by x and by the rows."""
    slopes = -signs / (1 + np.exp(signs * (rows @ x)))
    return slopes @ rows, np.outer(slopes, x)


def learn(x: np.ndarray, matrix: np.ndarray, rows: list[int], signs: list[int], alpha: float) -> tuple[Any, float]:
    """Change rows one after the other; return how x must change, and the loss."""
    step, loss = np.zeros_like(x), 0.0
    for row, sign in zip(rows, signs, strict=True):
        one = matrix[row : row + 1], np.array([sign])
        loss += loss_of(x, *one)
        by_x, by_row = gradients(x, *one)
        step -= alpha * by_x
        matrix[row] -= alpha * by_row[0]
    return step, loss


def train(sentences: list[list[int]], vectors: np.ndarray, *, out: Any = None, cumulated: Any = None, nodes: Any = None,
          paths: Any = None, negative: int = 0, keep: Any = None, window: int = 5, shrink: bool = True,
          sg: bool = False, mean: bool = True, alpha: float, fall: float, seed: int, epoch: int) -> float:  # fmt: skip
    """Train one epoch in place; return the sum of losses."""
    total, before = 0.0, 0
    for s, sentence in enumerate(sentences):
        random, rate = Random(seed + epoch * GOLDEN, s), alpha - fall * before
        before += len(sentence)
        words = [word for word in sentence if keep is None or keep[word] >= random()]
        for i, word in enumerate(words):
            if len(words) < 2:
                continue
            reach = 1 + (random() * window >> 32) if shrink else window
            context = [words[j] for j in range(max(0, i - reach), min(len(words), i + reach + 1)) if j != i]
            for inputs in [[other] for other in context] if sg else [context]:
                for matrix in [m for m in (nodes, out) if m is not None]:
                    x = vectors[inputs].sum(axis=0) / (len(inputs) if mean else 1)
                    if matrix is nodes:
                        rows, signs = paths[word]
                    else:
                        drawn = [int(np.searchsorted(cumulated, random() >> 1, "right")) for _ in range(negative)]
                        rows = [word, *(other for other in drawn if other != word)]
                        signs = [1] + [-1] * (len(rows) - 1)
                    step, loss = learn(x, matrix, rows, signs, rate)
                    total += loss
                    for other in inputs:
                        vectors[other] += step / (1 if mean else len(inputs))
    return total
