"""What fastText's kernels compute, one float after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Targets = Sequence[tuple[int, int]]
"""Rows of the output and 1 or 0: what a logistic regression is to say there."""


def fnv(text: bytes) -> int:
    made = 2166136261
    for byte in text:
        signed = byte - 256 if byte > 127 else byte
        made = ((made ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return made


def ngram_buckets(word: str, min_n: int, max_n: int, bucket: int) -> list[int]:
    whole = f"<{word}>"
    found = [(i, j) for i in range(len(whole)) for j in range(i + 1, len(whole) + 1) if min_n <= j - i <= max_n]
    return [fnv(whole[i:j].encode()) % bucket for i, j in found if j - i > 1 or 0 < i < len(whole) - 1]


def word_ngram_buckets(words: Sequence[bytes], longest: int, bucket: int) -> list[int]:
    hashes = [fnv(word) - (fnv(word) >> 31 << 32) for word in words]
    made = []
    for i, hash_ in enumerate(hashes):
        for other in hashes[i + 1 : i + longest]:
            hash_ = (hash_ * 116049371 + other) & 0xFFFFFFFFFFFFFFFF
            made.append((hash_ & 0xFFFFFFFFFFFFFFFF) % bucket)
    return made


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def logistic_loss(hidden: Floats, output: Floats, targets: Targets) -> float:
    return -sum(np.log(sigmoid((1 if wanted else -1) * float(output[row] @ hidden))) for row, wanted in targets)


def softmax_loss(hidden: Floats, output: Floats, target: int) -> float:
    scores = output @ hidden
    return float(np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[target])


def logistic_steps(hidden: Floats, output: Floats, targets: Targets, rate: float) -> Floats:
    """Change the output, target by target; return what the hidden vector is to gain."""
    gain = np.zeros_like(hidden)
    for row, wanted in targets:
        step = rate * (wanted - sigmoid(float(output[row] @ hidden)))
        gain += step * output[row]
        output[row] += step * hidden
    return gain


def softmax_steps(hidden: Floats, output: Floats, target: int, rate: float) -> Floats:
    scores = np.exp(output @ hidden)
    steps = rate * ((np.arange(len(output)) == target) - scores / scores.sum())
    gain = steps @ output
    output += np.outer(steps, hidden)
    return np.asarray(gain)


def with_negatives(target: int, draws: list[int], negative: int) -> Targets:
    """Return a target and negative samples, for which `draws` is used up; what is the target is drawn again."""
    made = [(target, 1)]
    for _ in range(negative):
        drawn = [draws.pop(0)]
        while drawn[-1] == target and len(drawn) <= 8:
            drawn.append(draws.pop(0))
        made += [(drawn[-1], 0)] if drawn[-1] != target else []
    return made
