"""How often word2vec draws each word as a negative sample, with the random numbers of the core."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.word2vec import GOLDEN, Random


def negative_samples(sentences: list[list[int]], cumulated: Any, words: int, *, negative: int, window: int, seed: int,
                     epoch: int) -> np.ndarray:  # fmt: skip
    """How often each word is a negative sample of a pair of skip-gram, less how often it is the target."""
    draws, centres = [], []
    for s, sentence in enumerate(sentences):
        random = Random(seed + epoch * GOLDEN, s)
        for i, word in enumerate(sentence):
            reach = 1 + (random() * window >> 32)
            pairs = min(len(sentence), i + reach + 1) - max(0, i - reach) - 1
            draws += [random() >> 1 for _ in range(pairs * negative)]
            centres += [word] * pairs
    drawn, right = np.searchsorted(cumulated, draws, "right"), np.array(centres)
    drawn = drawn[drawn != np.repeat(right, negative)]
    return np.bincount(drawn, minlength=words) - np.bincount(right, minlength=words)
