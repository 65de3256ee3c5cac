"""Multi-head latent attention by its formulas: float64, keys and values of every head recomputed, token by token."""

from __future__ import annotations

import numpy as np

from reference.attention import attention, band


def rms_norm(x, weight, eps):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight


def rotated(x, position, base, interleaved):
    """x (D) with pair i turned by position * base^(-2i / D)."""
    half = len(x) // 2
    first, second = (x[0::2], x[1::2]) if interleaved else (x[:half], x[half:])
    angle = position * base ** (-np.arange(half) / half)
    out = np.empty_like(x)
    a, b = first * np.cos(angle) - second * np.sin(angle), first * np.sin(angle) + second * np.cos(angle)
    if interleaved:
        out[0::2], out[1::2] = a, b
    else:
        out[:half], out[half:] = a, b
    return out


def latent_attention(c, weights, x, *, ignored=None):
    """x (B, T, dim) → (B, T, dim) for a LatentConfig and its weights (DeepSeek-V2, appendix C)."""
    w = {name: np.asarray(value, dtype=np.float64) for name, value in weights.items()}
    x = np.asarray(x, dtype=np.float64)
    batch, length, _ = x.shape
    source, name = x, "q"
    if c.q_rank is not None:
        source = rms_norm(x @ w["q_a.weight"].T + w.get("q_a.bias", 0), w["q_norm.weight"], c.eps)
        name = "q_b"
    found = x @ w["kv_a.weight"].T + w.get("kv_a.bias", 0)
    latent = rms_norm(found[..., : c.kv_rank], w["kv_norm.weight"], c.eps)
    made = (latent @ w["kv_b.weight"].T).reshape(batch, length, c.n_heads, c.nope_dim + c.v_dim)
    q = (source @ w[f"{name}.weight"].T).reshape(batch, length, c.n_heads, c.head_dim)
    k = np.zeros((batch, length, c.n_heads, c.head_dim))
    k[..., : c.nope_dim] = made[..., : c.nope_dim]
    turn = {"base": c.rope.base, "interleaved": c.rope.interleaved}
    for b, t, h in np.ndindex(batch, length, c.n_heads):
        q[b, t, h, c.nope_dim :] = rotated(q[b, t, h, c.nope_dim :], t, **turn)
        k[b, t, h, c.nope_dim :] = rotated(found[b, t, c.kv_rank :], t, **turn)
    sees = band(length, length, right=0)
    if ignored is not None:
        sees = sees & ~ignored[:, None, None]
    v = made[..., c.nope_dim :]
    out, _ = attention(*(a.swapaxes(1, 2) for a in (q, k, v)), sees=sees, scale=c.scale)
    return out.swapaxes(1, 2).reshape(batch, length, -1) @ w["o.weight"].T + w.get("o.bias", 0)
