"""Variants of attention by the formulas of their papers: float64, every score on its own, no state between tokens."""

from __future__ import annotations

import numpy as np

from reference.latent_attention import rotated


def mixed(score, q, v, sees):
    """Softmax over the keys that sees(i, j) allows of score(b, h, i, j), times v (B, H, S, E) → (B, H, T, E)."""
    v = np.asarray(v, dtype=np.float64)
    out = np.zeros((*q.shape[:3], v.shape[3]))
    for b, h, i in np.ndindex(q.shape[:3]):
        seen = [j for j in range(v.shape[2]) if sees(i, j)]
        scores = np.array([score(b, h, i, j) for j in seen])
        weights = np.exp(scores - scores.max())
        out[b, h, i] = weights / weights.sum() @ v[b, h, seen]
    return out


def turned_scores(q, k, base, at):
    """Scores of q and k (B, H, n, D), rotated to the positions at(i, j) → (query's, key's)."""
    q, k = np.asarray(q, dtype=np.float64), np.asarray(k, dtype=np.float64)

    def score(b, h, i, j):
        of_query, of_key = at(i, j)
        turned = rotated(q[b, h, i], of_query, base, False) @ rotated(k[b, h, j], of_key, base, False)
        return turned / np.sqrt(q.shape[3])

    return score


def dual_chunk(q, k, v, *, chunk, max_length, base=10000.0):
    """An et al. 2024, 3.2: intra-, successive- and inter-chunk positions of a query; keys have one."""

    def at(i, j):
        between = i // chunk - j // chunk
        if between == 0:
            return i % chunk, j % chunk
        return min(chunk + i % chunk, max_length - 1) if between == 1 else max_length - 1, j % chunk

    return mixed(turned_scores(q, k, base, at), q, v, lambda i, j: j <= i)


def sinks(q, k, v, *, n_sinks, window, base=None):
    """Xiao et al. 2024, 3.2: positions are places in the cache, which is the sinks and then the window."""

    def at(i, j):
        cache = [*range(min(n_sinks, i + 1)), *range(max(n_sinks, i - window + 1), i + 1)]
        return (cache.index(i), cache.index(j)) if base else (0, 0)

    return mixed(turned_scores(q, k, base or 1.0, at), q, v, lambda i, j: j <= i and (j < n_sinks or i - j < window))


def relative(q, k, v, r, u, w, *, scale):
    """Dai et al. 2019, 3.3: the four terms of A_rel, of the last T of S tokens; r (H, S, D) by distance."""
    q, k, r, u, w = (np.asarray(a, dtype=np.float64) for a in (q, k, r, u, w))
    before = k.shape[2] - q.shape[2]

    def score(b, h, i, j):
        by = r[h, before + i - j]
        return (q[b, h, i] @ k[b, h, j] + q[b, h, i] @ by + u[h] @ k[b, h, j] + w[h] @ by) * scale

    return mixed(score, q, v, lambda i, j: j <= before + i)


def additive(q, m, by_query, by_key, score, *, ignored):
    """Bahdanau et al. 2015, A.1.2, of queries (B, T, Q) over a memory (B, S, K)."""
    q, m = np.asarray(q, dtype=np.float64), np.asarray(m, dtype=np.float64)
    out = np.zeros((*q.shape[:2], m.shape[2]))
    for b, i in np.ndindex(q.shape[:2]):
        seen = np.flatnonzero(~ignored[b])
        scores = np.array([score @ np.tanh(by_query @ q[b, i] + by_key @ m[b, j]) for j in seen])
        if len(seen):
            weights = np.exp(scores - scores.max())
            out[b, i] = weights / weights.sum() @ m[b, seen]
    return out
