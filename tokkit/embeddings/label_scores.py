"""Computes the probabilities of labels from hidden vectors and the rows of labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit.embeddings.fasttext_tree import TreePaths


def label_probabilities(
    hidden: NDArray[np.float32], output: NDArray[np.float32], loss: str, paths: TreePaths | None
) -> NDArray[np.float32]:
    """Return the probability of each label for each hidden vector, (n, labels).

    With "softmax" and "hs" they sum to 1 for each vector; with "ova" and "ns" they are independent.
    """
    scores = hidden @ output.T
    if loss == "softmax":
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores
    if loss == "hs" and paths is not None:
        return _along(scores, paths)
    return np.asarray(np.exp(-np.logaddexp(0, -scores.astype(np.float64))), dtype=np.float32)


def _along(scores: NDArray[np.float32], paths: TreePaths) -> NDArray[np.float32]:
    """Return the product of the probabilities of the turns on the path to each label."""
    if not len(paths.nodes):
        return np.ones((len(scores), len(paths.ends)), dtype=np.float32)
    made = np.empty((len(scores), len(paths.ends)), dtype=np.float32)
    signs, starts = np.where(paths.turns, -1.0, 1.0), np.concatenate([[0], paths.ends[:-1]])
    for row, one in zip(made, scores.astype(np.float64), strict=True):
        row[:] = np.exp(-np.add.reduceat(np.logaddexp(0, signs * one[paths.nodes]), starts))
    return made
