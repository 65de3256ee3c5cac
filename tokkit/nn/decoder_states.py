"""Hidden states and attention weights of a `TextDecoder` for a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tokkit.nn.arrays import Floats, current_threads
from tokkit.nn.functional import layer_norm, rms_norm
from tokkit.nn.text_decoder import TextDecoder


def hidden_states(decoder: TextDecoder, ids: ArrayLike) -> Floats:
    """Return (n_layers + 1, T, dim) for ids (T): the input of the first layer, and the output of each layer.

    The last one is before the final norm; `TextDecoder.head_of` computes logits of any of them.
    """
    row = np.asarray(ids)
    c = decoder.config.layers
    states = np.empty((c.n_layers + 1, len(row), c.dim), dtype=np.float32)
    states[0] = decoder.embedded(row)
    after = np.empty((c.n_layers, len(row), c.dim), dtype=np.float32)
    decoder([row], states=after)
    states[1:] = after
    return states


def attention_weights(decoder: TextDecoder, ids: ArrayLike, layers: Sequence[int]) -> Floats:
    """Return the attention weights (layers, n_heads, T, T) for ids (T), in these layers.

    Scores are computed again from the inputs of the layers, in float32.
    """
    states = hidden_states(decoder, ids)
    return np.stack([weights_of(decoder, layer, states[layer]) for layer in layers])


def weights_of(decoder: TextDecoder, layer: int, x: Floats) -> Floats:
    """Return the attention weights (n_heads, T, T) of a layer for its input (T, dim)."""
    config, c, parts = decoder.config, decoder.config.layers, decoder.parts[layer]
    n, size = len(x), c.head_size
    normed = x
    if c.pre_norm and "attention" in parts:
        weight, bias = parts["attention"]
        normed = layer_norm(x, weight, bias, eps=c.eps) if c.norm == "layer" else rms_norm(x, weight, eps=c.eps)
    joined = np.empty((n, (c.n_heads + 2 * c.kv_heads) * size), dtype=np.float32)
    parts["qkv"].run(normed, joined, activation="identity", residual=None, threads=current_threads())
    q, k = _heads(decoder, layer, joined, 0, "q"), _heads(decoder, layer, joined, c.n_heads, "k")
    scores = q @ np.repeat(k, c.n_heads // c.kv_heads, axis=0).swapaxes(1, 2)
    scores *= np.float32(size**-0.5 if c.scale is None else c.scale)
    if config.cap:
        scores = np.float32(config.cap) * np.tanh(scores / np.float32(config.cap))
    added = decoder.distance_bias(n)
    if added is not None:
        scores += added
    distance = np.arange(n)[:, None] - np.arange(n)
    window = config.window(layer)
    seen = np.abs(distance) < (n if window is None else window)
    scores[:, ~(seen & (distance >= 0) if c.causal else seen)] = -np.inf
    made: Floats = np.exp(scores - scores.max(-1, keepdims=True))
    made /= made.sum(-1, keepdims=True)
    return made


def _heads(decoder: TextDecoder, layer: int, joined: Floats, first: int, name: str) -> Floats:
    """Return the queries or keys (heads, T, head_dim) of a layer, which begin at head `first` of the rows of qkv."""
    c = decoder.config.layers
    heads = c.n_heads if name == "q" else c.kv_heads
    rows = joined[:, first * c.head_size :][:, : heads * c.head_size]
    made = np.ascontiguousarray(rows.reshape(len(rows), heads, c.head_size).swapaxes(0, 1))
    if name in decoder.parts[layer]:
        made = rms_norm(made, decoder.parts[layer][name][0], eps=c.eps)
    return decoder.rotated(made, layer)
