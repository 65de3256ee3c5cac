"""Attention by its formula: float64, one query at a time, nothing skipped."""

from __future__ import annotations

import numpy as np


def attention(q, k, v, *, scale=None, cap=0, sees=None, add=None):
    """q (B, H, T, D), k (B, G, S, D), v (B, G, S, E) → (outputs (B, H, T, E), weights (B, H, T, S)), in float64.

    `sees` is boolean and `add` a number for each (B, H, T, S); a query that sees nothing gets zeros. Keys that are
    not seen are left out before anything is computed, so that not even their NaN counts. With a `cap` scores are
    cap * tanh(score / cap).
    """
    q, k, v = (np.asarray(array, dtype=np.float64) for array in (q, k, v))
    batch, heads, n_queries, d = q.shape
    n_keys, group = k.shape[2], heads // k.shape[1]
    scale = d**-0.5 if scale is None else scale
    out = np.zeros((batch, heads, n_queries, v.shape[3]))
    weights = np.zeros((batch, heads, n_queries, n_keys))
    for b, h, i in np.ndindex(batch, heads, n_queries):
        seen = np.arange(n_keys) if sees is None else np.flatnonzero(np.broadcast_to(sees, weights.shape)[b, h, i])
        scores = k[b, h // group, seen] @ q[b, h, i] * scale
        scores = cap * np.tanh(scores / cap) if cap else scores
        if add is not None:
            scores = scores + np.broadcast_to(add, weights.shape)[b, h, i, seen]
        kept = scores != -np.inf
        seen, scores = seen[kept], scores[kept]
        if not len(seen):
            continue
        p = np.exp(scores - scores.max())
        weights[b, h, i, seen] = p / p.sum()
        out[b, h, i] = weights[b, h, i, seen] @ v[b, h // group, seen]
    return out, weights


def band(n_queries, n_keys, *, offset=0, left=None, right=None):
    """(T, S) of what a query at i + offset sees: keys from `left` behind it to `right` ahead; None: no limit."""
    distance = np.arange(n_queries)[:, None] + offset - np.arange(n_keys)
    sees = np.ones((n_queries, n_keys), dtype=bool)
    if left is not None:
        sees &= distance <= left
    if right is not None:
        sees &= distance >= -right
    return sees
