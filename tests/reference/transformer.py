"""A stack of transformer layers in float64, written as the formulas are."""

from __future__ import annotations

import numpy as np

from reference.attention import attention, band
from reference.rows import ACTIVATIONS, layer_norm, rms_norm


def linear(x, weights, name):
    """x Wᵀ + b, b where there is one."""
    return x @ np.float64(weights[f"{name}.weight"]).T + weights.get(f"{name}.bias", 0)


def norm(config, x, weights, name):
    """The norm of the configuration with the weights of that name."""
    kind = layer_norm if config.norm == "layer" else rms_norm
    return kind(x, config.eps) * weights[f"{name}.weight"] + weights.get(f"{name}.bias", 0)


def heads(x, n):
    """(B, T, n D) → (B, n, T, D)."""
    return x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)


def attend(config, x, weights, name, memory=None, ignored=None):
    """Multi-head attention of x to itself, or to a memory."""
    source = x if memory is None else memory
    q = heads(linear(x, weights, f"{name}.q"), config.n_heads)
    k, v = (heads(linear(source, weights, f"{name}.{part}"), config.kv_heads) for part in "kv")
    sees = np.ones((x.shape[1], source.shape[1]), dtype=bool)
    if memory is None and config.causal:
        sees = band(*sees.shape, right=0)
    if ignored is not None:
        sees = sees & ~ignored[:, None, None]
    mixed, _ = attention(q, k, v, sees=sees)
    return linear(mixed.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1), weights, f"{name}.o")


def feed_forward(config, x, weights):
    """Up, activation or gate, and down."""
    up = linear(x, weights, "feed_forward.up")
    gates = {"swiglu": "silu", "geglu": "gelu"}
    if config.activation in gates:
        made = ACTIVATIONS[gates[config.activation]](linear(x, weights, "feed_forward.gate")) * up
    else:
        made = ACTIVATIONS[config.activation](up)
    return linear(made, weights, "feed_forward.down")


def stack(config, x, weights, memory=None, ignored=None, memory_ignored=None):
    """All layers, pre- or post-norm."""
    x = np.float64(x)
    for i in range(config.n_layers):
        prefix = f"layers.{0 if config.shared_layers else i}."
        own = {name.removeprefix(prefix): w for name, w in weights.items() if name.startswith(prefix)}
        parts = [("attention", lambda y, own=own: attend(config, y, own, "attention", None, ignored))]
        if config.cross:
            parts += [("cross", lambda y, own=own: attend(config, y, own, "cross", memory, memory_ignored))]
        parts += [("feed_forward", lambda y, own=own: feed_forward(config, y, own))]
        for name, run in parts:
            if config.pre_norm:
                x = x + run(norm(config, x, own, f"{name}_norm"))
            else:
                x = norm(config, x + run(x), own, f"{name}_norm")
    return norm(config, x, weights, "norm") if config.pre_norm else x
