"""The attention and the norms of a language model in float64, one query of one head at a time."""

from __future__ import annotations

import numpy as np

from reference.feed_forward import linear
from reference.rows import layer_norm, rms_norm
from tokkit.nn.positions import relative_buckets


def norm(config, x, weights, name):
    """The norm of the configuration, with the weights of that name."""
    kind = layer_norm if config.layers.norm == "layer" else rms_norm
    return kind(x, config.layers.eps) * np.float64(weights[f"{name}.weight"]) + weights.get(f"{name}.bias", 0)


def turned(x, rope, position):
    """The heads (n, D) of one token, rotated by its position; pairs are columns i and i + half, or 2i and 2i + 1."""
    n = (rope.rotary_dim or rope.head_dim) // 2
    angle = position / (rope.factor if rope.scaling == "linear" else 1) * rope.base ** (-np.arange(n) / n)
    first, second = (np.arange(n) * 2, np.arange(n) * 2 + 1) if rope.interleaved else (np.arange(n), np.arange(n) + n)
    made = np.array(x)
    made[:, first] = x[:, first] * np.cos(angle) - x[:, second] * np.sin(angle)
    made[:, second] = x[:, second] * np.cos(angle) + x[:, first] * np.sin(angle)
    return made


def attend(config, x, weights, prefix, layer, memory=None):
    """Attention of all tokens (T, dim), each to those before it and itself, or to a memory (S, dim)."""
    c, window, source = config.layers, config.window(layer), x if memory is None else memory
    rope = config.local_rope if config.local_rope is not None and window is not None else c.rope
    name = f"{prefix}{'attention' if memory is None else 'cross'}."
    parts = {p: linear(x if p == "q" else source, weights, f"{name}{p}") for p in "qkv"}
    parts = {p: made.reshape(len(made), -1, c.head_size) for p, made in parts.items()}
    for p in "qk":
        if config.qk_norm and memory is None:
            parts[p] = norm(config, parts[p], weights, f"{prefix}{p}_norm")
        if rope is not None and memory is None:
            parts[p] = np.stack([turned(heads, rope, t) for t, heads in enumerate(parts[p])])
    scale = c.head_size**-0.5 if c.scale is None else c.scale
    out = np.zeros((len(x), c.n_heads, c.head_size))
    for t, h in np.ndindex(len(x), c.n_heads):
        seen = np.arange(len(source))
        if memory is None:
            after = (0 if c.causal else len(x)) if window is None or c.causal else window - 1
            seen = seen[(seen <= t + after) & (seen > t - (window or len(x)))]
        of = h * c.kv_heads // c.n_heads
        scores = parts["k"][seen, of] @ parts["q"][t, h] * scale
        scores = config.cap * np.tanh(scores / config.cap) if config.cap else scores
        if c.alibi:
            scores -= 2.0 ** (-8 * (h + 1) / c.n_heads) * abs(t - seen)
        if c.relative_buckets and memory is None:
            sides = {"n_buckets": c.relative_buckets, "max_distance": c.relative_distance}
            scores += weights["relative.weight"][relative_buckets(seen - t, **sides, bidirectional=not c.causal), h]
        p = np.exp(scores - scores.max())
        out[t, h] = p / p.sum() @ parts["v"][seen, of]
    return linear(out.reshape(len(x), -1), weights, f"{name}o")
