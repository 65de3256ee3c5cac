"""Skip-gram with one step for each window: its words share the negative samples; updates come after all products."""

from __future__ import annotations

import numpy as np

from reference.word2vec import GOLDEN, Random, loss_of

GROUP, INPUTS = 8, 32


def train(sentences: list[list[int]], vectors: np.ndarray, out: np.ndarray, cumulated: np.ndarray, *, negative: int,
          window: int, alpha: float, seed: int = 1, epoch: int = 0) -> float:  # fmt: skip
    """Train one epoch in place; return the sum of losses."""
    total = 0.0
    for s, words in enumerate(sentences):
        random = Random(seed + epoch * GOLDEN, s)
        for i, word in enumerate(words):
            reach = 1 + (random() * window >> 32)
            context = [words[j] for j in range(max(0, i - reach), min(len(words), i + reach + 1)) if j != i]
            drawn = [int(np.searchsorted(cumulated, random() >> 1, "right")) for _ in range(negative)]
            left = [word, *(other for other in drawn if other != word)]
            sign_of = {word: 1}
            while left:
                group: dict[int, int] = {}  # target → how often
                while left and len(group) < GROUP:
                    row = left.pop(0)
                    group[row] = group.get(row, 0) + 1
                rows, times = list(group), np.array(list(group.values()))
                signs = np.array([sign_of.get(row, -1) for row in rows])
                for start in range(0, len(context), INPUTS):
                    inputs = context[start : start + INPUTS]
                    old = out[rows].copy()
                    slopes = alpha * times * signs / (1 + np.exp(signs * (vectors[inputs] @ old.T)))
                    for x in inputs:
                        total += sum(loss_of(vectors[x], old[[t]], signs[[t]]) * times[t] for t in range(len(rows)))
                    for x, by in zip(inputs, slopes, strict=True):
                        out[rows] += np.outer(by, vectors[x])
                        vectors[x] += by @ old
    return total
