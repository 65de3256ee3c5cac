"""A decoder-only language model in float64, token by token as the formulas are written."""

from __future__ import annotations

import numpy as np

from reference.rows import ACTIVATIONS, layer_norm, rms_norm

GATES = {"swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu_tanh"}


def norm(config, x, weights, name):
    """The norm of the configuration, with the weights of that name."""
    kind = layer_norm if config.layers.norm == "layer" else rms_norm
    return kind(x, config.layers.eps) * np.float64(weights[f"{name}.weight"]) + weights.get(f"{name}.bias", 0)


def linear(x, weights, name):
    """x Wᵀ + b, b where there is one."""
    return x @ np.float64(weights[f"{name}.weight"]).T + weights.get(f"{name}.bias", 0)


def turned(x, rope, position):
    """The heads (n, D) of one token, rotated by its position; pairs are columns i and i + half, or 2i and 2i + 1."""
    n = (rope.rotary_dim or rope.head_dim) // 2
    angle = position * rope.base ** (-np.arange(n) / n)
    first, second = (np.arange(n) * 2, np.arange(n) * 2 + 1) if rope.interleaved else (np.arange(n), np.arange(n) + n)
    made = np.array(x)
    made[:, first] = x[:, first] * np.cos(angle) - x[:, second] * np.sin(angle)
    made[:, second] = x[:, second] * np.cos(angle) + x[:, first] * np.sin(angle)
    return made


def attend(config, x, weights, prefix, layer):
    """Attention of all tokens (T, dim), each to those before it and itself."""
    c, window = config.layers, config.window(layer)
    rope = config.local_rope if config.local_rope is not None and window is not None else c.rope
    parts = {p: linear(x, weights, f"{prefix}attention.{p}").reshape(len(x), -1, c.head_size) for p in "qkv"}
    for p in "qk":
        if config.qk_norm:
            parts[p] = norm(config, parts[p], weights, f"{prefix}{p}_norm")
        if rope is not None:
            parts[p] = np.stack([turned(heads, rope, t) for t, heads in enumerate(parts[p])])
    scale = c.head_size**-0.5 if c.scale is None else c.scale
    out = np.zeros((len(x), c.n_heads, c.head_size))
    for t in range(len(x)):
        first = 0 if window is None else max(0, t - window + 1)
        for h in range(c.n_heads):
            of = h * c.kv_heads // c.n_heads
            scores = parts["k"][first : t + 1, of] @ parts["q"][t, h] * scale
            if c.alibi:
                scores -= 2.0 ** (-8 * (h + 1) / c.n_heads) * np.arange(t - first, -1, -1)
            p = np.exp(scores - scores.max())
            out[t, h] = p / p.sum() @ parts["v"][first : t + 1, of]
    return linear(out.reshape(len(x), -1), weights, f"{prefix}attention.o")


def feed_forward(config, x, weights, prefix):
    """Up, activation or gate, and down."""
    up = linear(x, weights, f"{prefix}feed_forward.up")
    gate = GATES.get(config.layers.activation)
    made = ACTIVATIONS[config.layers.activation](up) if gate is None else (
        ACTIVATIONS[gate](linear(x, weights, f"{prefix}feed_forward.gate")) * up)  # fmt: skip
    return linear(made, weights, f"{prefix}feed_forward.down")


def logits(config, weights, ids):
    """(T, vocab_size) for ids (T)."""
    x = np.float64(weights["word.weight"])[ids] * config.embedding_scale
    x = x + (np.float64(weights["position.weight"])[: len(ids)] if config.positions else 0)
    x = norm(config, x, weights, "embedding_norm") if config.embedding_norm else x
    for i in range(config.layers.n_layers):
        at = f"layers.{i}."
        seen = attend(config, norm(config, x, weights, f"{at}attention_norm"), weights, at, i)
        seen = norm(config, seen, weights, f"{at}attended_norm") if config.part_norms else seen
        source = x if config.parallel else x + seen
        more = feed_forward(config, norm(config, source, weights, f"{at}feed_forward_norm"), weights, at)
        x = x + seen + (norm(config, more, weights, f"{at}forwarded_norm") if config.part_norms else more)
    head = {"head.weight": weights["word.weight" if config.tied else "head.weight"], **weights}
    return linear(norm(config, x, weights, "norm"), head, "head")
