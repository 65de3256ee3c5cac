"""Backward of attention, norms, activations and the loss by their formulas, and gradients by finite differences."""

from __future__ import annotations

import numpy as np

from reference.rows import ACTIVATIONS, layer_norm, rms_norm, softmax


def differences(function, x, dy, step=1e-5):
    """The gradient of sum(function(x) * dy) at x (float64), number by number."""
    made = np.empty_like(x)
    for i in np.ndindex(x.shape):
        kept = x[i]
        x[i] = kept + step
        above = (function(x) * dy).sum()
        x[i] = kept - step
        made[i] = (above - (function(x) * dy).sum()) / (2 * step)
        x[i] = kept
    return made


def attention(q, k, v, *, scale, causal):
    """q (B, T, H, D), k and v (B, T, K, D) → (B, T, H, D), and log2 of the sums of 2^scores (B, H, T)."""
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    scores = np.einsum("bihd,bjhd->bhij", q, k) * scale
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    lse = (top[..., 0] + np.log(np.exp(scores - top).sum(-1))) / np.log(2)
    return np.einsum("bhij,bjhd->bihd", softmax(scores), v), lse


def attention_back(q, k, v, dout, *, scale, causal):
    """The gradients of q, k and v, by whole matrices of weights."""
    batch, n, kv_heads, d = k.shape
    group = q.shape[2] // kv_heads
    wide_k, wide_v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    scores = np.einsum("bihd,bjhd->bhij", q, wide_k) * scale
    if causal:
        scores = np.where(np.tri(n, dtype=bool), scores, -np.inf)
    p = softmax(scores)
    dp = np.einsum("bihd,bjhd->bhij", dout, wide_v)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    dk = np.einsum("bhij,bihd->bjhd", ds, q).reshape(batch, n, kv_heads, group, d).sum(3)
    dv = np.einsum("bhij,bihd->bjhd", p, dout).reshape(batch, n, kv_heads, group, d).sum(3)
    return np.einsum("bhij,bjhd->bihd", ds, wide_k), dk, dv


def norm_back(dy, x, weight, *, centred, eps=1e-5):
    """The gradients of x, weight and bias."""
    hat = layer_norm(x, eps) if centred else rms_norm(x, eps)
    by = 1 / np.sqrt((x.var(-1, keepdims=True) if centred else (x * x).mean(-1, keepdims=True)) + eps)
    g = dy * weight
    if centred:
        g = g - g.mean(-1, keepdims=True)
    return by * (g - hat * (g * hat).mean(-1, keepdims=True)), (dy * hat).sum(0), dy.sum(0)


def slope(x, activation, step=1e-5):
    """The derivative of an activation."""
    return (ACTIVATIONS[activation](x + step) - ACTIVATIONS[activation](x - step)) / (2 * step)


def cross_entropy_back(logits, targets, by):
    """Losses (n), and `by` times their gradients; targets below 0 have none."""
    made, counted = softmax(logits), targets >= 0
    places = np.arange(len(made)), np.maximum(targets, 0)
    losses = np.where(counted, -np.log(made[places]), 0)
    made[places] -= 1
    return losses, made * by * counted[:, None]


def rounded_to_bf16(x: np.ndarray) -> np.ndarray:
    """Floats whose last 16 bits are 0, the nearest ones; of two as near the even one."""
    first = x.view(np.uint32) & 0xFFFF0000
    low, middle, high = (bits.view(np.float32) for bits in (first, first | 0x8000, first + np.uint32(0x10000)))
    tie = (np.abs(x) == np.abs(middle)) & ((first >> 16 & 1) == 1)
    return np.where(np.isfinite(x) & ((np.abs(x) > np.abs(middle)) | tie), high, low)
