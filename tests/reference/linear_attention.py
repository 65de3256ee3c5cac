"""Linear attention by its formula: float64, every weight computed from features, one query at a time."""

from __future__ import annotations

import numpy as np


def elu(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def relu(x):
    return np.maximum(x, 0)


def performer(matrix):
    """Return the features of Choromanski et al. 2021, 2.3, for a matrix W (m, D)."""

    def features(x):
        scaled = x / matrix.shape[1] ** 0.25
        return np.exp(scaled @ matrix.T - (scaled**2).sum(-1, keepdims=True) / 2) / np.sqrt(len(matrix))

    return features


def linear_attention(q, k, v, features, *, causal=False, ignored=None):
    """q (B, H, T, D), k (B, G, S, D), v (B, G, S, E), ignored (B, S) → (B, H, T, E); no weight at all gives zeros."""
    q, k, v = (np.asarray(array, dtype=np.float64) for array in (q, k, v))
    group = q.shape[1] // k.shape[1]
    out = np.zeros((*q.shape[:3], v.shape[3]))
    for b, h, i in np.ndindex(q.shape[:3]):
        seen = np.arange(i + 1 if causal else k.shape[2])
        if ignored is not None:
            seen = seen[~ignored[b, seen]]
        weights = features(k[b, h // group, seen]) @ features(q[b, h, i])
        if weights.sum():
            out[b, h, i] = weights @ v[b, h // group, seen] / weights.sum()
    return out
