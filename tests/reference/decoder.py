"""A language model in float64, token by token as the formulas are written."""

from __future__ import annotations

import numpy as np

from reference.decoder_attention import attend, norm
from reference.feed_forward import forward, linear


def hidden(config, weights, ids, memory=None, types=0):
    """(T, dim) for ids (T), before the head."""
    x = np.float64(weights["word.weight"])[ids] * config.embedding_scale
    x = x + (np.float64(weights["position.weight"])[: len(ids)] if config.positions else 0)
    x = x + (np.float64(weights["type.weight"])[types] if config.types else 0)
    x = norm(config, x, weights, "embedding_norm") if config.embedding_norm else x
    pre, post = config.layers.pre_norm, not config.layers.pre_norm
    for i in range(config.layers.n_layers):
        at = f"layers.{i}."
        parts = [("attention_norm", "attended_norm", lambda y, at=at, i=i: attend(config, y, weights, at, i))]
        if memory is not None:
            parts += [("cross_norm", "", lambda y, at=at, i=i: attend(config, y, weights, at, i, memory))]
        parts += [("feed_forward_norm", "forwarded_norm", lambda y, at=at, i=i: forward(config, y, weights, at, i))]
        before = x
        for name, after, part in parts:
            read = before if config.parallel else x
            bare = not pre or f"{at}{name}.weight" not in weights
            more = part(read if bare else norm(config, read, weights, at + name))
            x = x + (norm(config, more, weights, at + after) if config.part_norms and after else more)
            x = norm(config, x, weights, at + name) if post else x
    return norm(config, x, weights, "norm") if pre else x


def logits(config, weights, ids, memory=None):
    """(T, vocab_size) for ids (T)."""
    head = type(weights)({"head.weight": weights["word.weight" if config.tied else "head.weight"], **weights})
    made = linear(hidden(config, weights, ids, memory) * config.head_scale, head, "head")
    return config.logit_cap * np.tanh(made / config.logit_cap) if config.logit_cap else made
