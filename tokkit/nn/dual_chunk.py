"""Dual-chunk attention: a model reads texts longer than those of its training, without further training."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, floats
from tokkit.nn.attention import attention, check_heads
from tokkit.nn.rope import Rope


def dual_chunk_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    rope: Rope,
    *,
    chunk: int,
    max_length: int,
    scale: float | None = None,
) -> Floats:
    """Return causal attention in which no rotation exceeds those of training on texts of max_length c tokens.

    query (B, H, T, D), key (B, G, S, D), value (B, G, S, E), G a divisor of H, not rotated yet → (B, H, T, E); queries
    are the last T of S tokens. With chunks of s < c tokens, key j is rotated to position j mod s. Query i is rotated
    to three positions: i mod s for keys of its own chunk (intra); min(s + i mod s, c - 1) for keys of the chunk before
    (successive), so that the nearest c - s keys have their true distance; c - 1 for keys of earlier chunks (inter). One
    softmax is over all three.

    The three rotated queries are concatenated along the columns, and a key is 0 except in the columns of its kind, so
    one pass of the attention kernel gives the joint softmax. Time T·S·(3 D + E), memory 3·S·D floats per key head.
    Raises ShapeError for arrays that do not fit, OptionError for an invalid `chunk` or `max_length`.
    Source: An et al. 2024 (Training-Free Long-Context Scaling of Large Language Models), 3.1 to 3.3, whose figure 2 has
    chunk=6 and max_length=10.

    >>> from tokkit.nn.rope import RopeConfig
    >>> x = np.ones((1, 2, 20, 4), np.float32)
    >>> dual_chunk_attention(x, x, x, Rope(RopeConfig(head_dim=4)), chunk=6, max_length=8).shape
    (1, 2, 20, 4)
    """
    q, k, v = (floats(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value")))
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ShapeError(
            f"query, key and value have shapes {q.shape}, {k.shape} and {v.shape}; each must be (B, H, T, D)"
        )
    check_heads(q, k, v)
    n_queries, n_keys, d = q.shape[2], k.shape[2], q.shape[3]
    if n_queries > n_keys:
        raise ShapeError(f"query has shape {q.shape} and key {k.shape}; queries are the last of the keys' tokens")
    chunk = as_int("chunk", chunk, minimum=1)
    if as_int("max_length", max_length, minimum=1) <= chunk:
        raise OptionError(f"chunk is {chunk}, and max_length {max_length}: chunks must be shorter")
    if rope.config.head_factors is not None:
        raise OptionError("rope.head_factors: keys turn as all query heads do here")
    scale = d**-0.5 if scale is None and d else scale
    where, first = np.arange(n_keys), n_keys - n_queries
    inside = where[first:] % chunk
    wide = np.concatenate(
        [
            rope(q, positions, length=max_length)
            for positions in (inside, np.minimum(chunk + inside, max_length - 1), np.full(n_queries, max_length - 1))
        ],
        axis=3,
    )
    turned = rope(k, where % chunk, length=max_length)
    keys = np.zeros((*k.shape[:3], 3 * d), dtype=np.float32)
    out = np.empty((*q.shape[:3], v.shape[3]), dtype=np.float32)
    placed = 0
    for start in range(first // chunk * chunk, n_keys, chunk):
        # Earlier chunks, the chunk before, the own chunk: keys of chunks that change their kind are moved.
        for kind, low, high in (
            (2, placed, start - chunk),
            (1, max(start - chunk, 0), start),
            (0, start, start + chunk),
        ):
            part = slice(max(low, 0), max(high, 0))
            keys[:, :, part] = 0
            keys[:, :, part, kind * d : (kind + 1) * d] = turned[:, :, part]
        placed = max(start - chunk, 0)
        low, high = max(start, first), min(start + chunk, n_keys)
        rows = slice(low - first, high - first)
        attention(
            wide[:, :, rows], keys[:, :, :high], v[:, :, :high], is_causal=True, causal_offset=low, scale=scale,
            out=out[:, :, rows],
        )  # fmt: skip
    return out
