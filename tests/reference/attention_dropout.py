"""Attention with dropout of weights by a hash of their positions, with whole masks, and its gradients."""

from __future__ import annotations

import numpy as np

from reference.rows import softmax

WORD = 0xFFFFFFFF


def number_hash(number, low, high):
    """The hash of a number and two words of a seed, by Python's integers."""
    h = (number ^ low) * 0x9E3779B1 & WORD
    h = (h ^ h >> 15 ^ high) * 0x85EBCA77 & WORD
    h = (h ^ h >> 13) * 0xC2B2AE3D & WORD
    return h ^ h >> 16


def left(p, seed, batch, heads, n, first_sequence=0):
    """What weights are multiplied by, (batch, heads, queries, keys): 0 or 1 / (1 - p)."""
    low, high, least = seed & WORD, seed >> 32, int(p * 2**32)
    made = np.zeros((batch, heads, n, n))
    for b, h in np.ndindex(batch, heads):
        number = (first_sequence + b) * heads + h
        one, other = number_hash(number, low, high), number_hash(number, high, low ^ WORD)
        for query in range(n):
            begin = number_hash(query, one, other), number_hash(query, other, one ^ WORD)
            made[b, h, query] = [number_hash(key, *begin) >= least for key in range(n)]
    return made / (1 - p)


def weights(q, k, scale, causal):
    """The weights (B, H, T, T) of q and k (B, T, H, D)."""
    scores = np.einsum("bihd,bjhd->bhij", q, k) * scale
    return softmax(np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf) if causal else scores)


def attention(q, k, v, mask, *, scale, causal):
    """q (B, T, H, D), k and v (B, T, K, D), mask (B, H, T, T) → (B, T, H, D)."""
    group = q.shape[2] // k.shape[2]
    p = weights(q, np.repeat(k, group, 2), scale, causal)
    return np.einsum("bhij,bjhd->bihd", p * mask, np.repeat(v, group, 2))


def attention_back(q, k, v, mask, dout, *, scale, causal):
    """The gradients of q, k and v."""
    batch, n, kv_heads, d = k.shape
    group = q.shape[2] // kv_heads
    wide_k, wide_v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    p = weights(q, wide_k, scale, causal)
    dp = np.einsum("bihd,bjhd->bhij", dout, wide_v) * mask
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    dk = np.einsum("bhij,bihd->bjhd", ds, q).reshape(batch, n, kv_heads, group, d).sum(3)
    dv = np.einsum("bhij,bihd->bjhd", p * mask, dout).reshape(batch, n, kv_heads, group, d).sum(3)
    return np.einsum("bhij,bjhd->bihd", ds, wide_k), dk, dv
