"""The feed-forward of a language model's layer, also one of experts, in float64."""

from __future__ import annotations

import numpy as np

from reference.rows import ACTIVATIONS, bfloat16, softmax

GATES = {"swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu_tanh"}


class Bfloat16(dict):
    """Weights that products round to bfloat16."""


class Bfloat16Rows(Bfloat16):
    """The same, of products that round rows of x too, as a CPU that multiplies bfloat16 does."""


def linear(x, weights, name):
    """x Wᵀ + b, b where there is one."""
    w = weights[f"{name}.weight"]
    w = bfloat16(w) if isinstance(weights, Bfloat16) else w
    x = np.float64(bfloat16(x)) if isinstance(weights, Bfloat16Rows) else x
    return x @ np.float64(w).T + weights.get(f"{name}.bias", 0)


def feed_forward(config, x, weights, name):
    """Up, activation or gate, and down."""
    up = linear(x, weights, f"{name}.up")
    gate = GATES.get(config.layers.activation)
    made = ACTIVATIONS[config.layers.activation](up) if gate is None else (
        ACTIVATIONS[gate](linear(x, weights, f"{name}.gate")) * up)  # fmt: skip
    return linear(made, weights, f"{name}.down")


def forward(config, x, weights, prefix, layer):
    """The feed-forward of a layer; each row of x goes to the experts that its router finds most probable."""
    experts = config.experts
    if not config.has_experts(layer):
        return feed_forward(config, x, weights, f"{prefix}feed_forward")
    shares = softmax(linear(x, weights, f"{prefix}router"))
    made = np.zeros_like(x)
    for t, share in enumerate(shares):
        best = np.argsort(-share)[: experts.top]
        total = share[best].sum() if experts.renormalize else 1
        for i in best:
            made[t] += share[i] / total * feed_forward(config, x[t], weights, f"{prefix}experts.{i}")
    if experts.shared_dim:
        gate = 1 / (1 + np.exp(-linear(x, weights, f"{prefix}shared_gate")))
        made += gate * feed_forward(config, x, weights, f"{prefix}shared")
    return made
