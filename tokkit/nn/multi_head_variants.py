"""Multi-head layers around linear and sparse attention, with the weights of `MultiHeadAttention`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, floats
from tokkit.nn.config import TransformerConfig
from tokkit.nn.linear_attention import Features, LinearState, linear_attention
from tokkit.nn.multi_head import MultiHeadAttention
from tokkit.nn.sparse import BlockMask, sparse_attention


class _Projections(MultiHeadAttention):
    """Projects x to the queries, keys and values of heads, and the output of heads back to x."""

    def heads(self, x: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return queries (B, H, T, D), keys and values (B, G, T, D) of x (B, T, dim), rotated if there is a rope."""
        made, c = floats(x, "x"), self.config
        if made.ndim != 3 or made.shape[2] != c.dim:
            raise ShapeError(f"x has shape {made.shape}; it must be (B, T, {c.dim})")
        q, k, v = self._projected(made, None)
        if self._ropes is not None:
            for rope, part in zip(self._ropes, (q, k), strict=True):
                rope(part, np.arange(made.shape[1]), out=part)
        return q, k, v

    def output(self, found: Floats) -> Floats:
        """Return (B, T, dim) for the output of heads (B, H, T, D)."""
        batch, heads, length, d = found.shape
        return self._o(found.swapaxes(1, 2).reshape(batch, length, heads * d))


class LinearMultiHeadAttention:
    """Linear self-attention: a layer with constant memory for any length of text.

    Weights: see `TransformerConfig.attention_shapes`; `features` as in `linear_attention`, causal where the
    configuration is. Rope, ALiBi and windows raise OptionError, because weights are not a function of the distance.
    Time F·D per head and token, memory F·D per head. Source: Katharopoulos et al. 2020, Choromanski et al. 2021.

    >>> config = TransformerConfig(dim=8, n_heads=2, causal=True)
    >>> from tokkit.nn.arrays import initial
    >>> layer, state = LinearMultiHeadAttention(config, initial(config.attention_shapes(), seed=0)), LinearState()
    >>> layer(np.ones((1, 3, 8)), state=state).shape, state.length
    ((1, 3, 8), 3)
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any], *, features: Features = "elu") -> None:
        if config.rope is not None or config.alibi or config.window is not None or config.scale is not None:
            raise OptionError(
                "linear attention supports no rope, ALiBi, window or scale; leave them out of its configuration"
            )
        self.config, self.features = config, features
        self._heads = _Projections(config, weights)

    def __call__(
        self, x: ArrayLike, *, key_padding_mask: ArrayLike | None = None, state: LinearState | None = None
    ) -> Floats:
        """Return (B, T, dim) for x (B, T, dim); `key_padding_mask` and `state` as in `linear_attention`."""
        found = linear_attention(
            *self._heads.heads(x), features=self.features, is_causal=self.config.causal,
            key_padding_mask=key_padding_mask, state=state,
        )  # fmt: skip
        return self._heads.output(found)


class SparseMultiHeadAttention:
    """Self-attention over the pairs of a `BlockMask`, one for all texts of a length: Longformer's, BigBird's layers.

    Weights: see `TransformerConfig.attention_shapes`. Global tokens have the projections of all others, as in BigBird
    (Longformer's have their own). Causality and windows are part of the mask; ALiBi raises OptionError. Time and memory
    as in `sparse_attention`. Source: Beltagy et al. 2020, Zaheer et al. 2020, Child et al. 2019.

    >>> from tokkit.nn.sparse import SlidingWindow
    >>> from tokkit.nn.arrays import initial
    >>> config = TransformerConfig(dim=8, n_heads=2)
    >>> layer = SparseMultiHeadAttention(config, initial(config.attention_shapes(), seed=0))
    >>> layer(np.ones((1, 100, 8)), BlockMask(100, [SlidingWindow(10)])).shape
    (1, 100, 8)
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        if config.alibi or config.window is not None or config.causal:
            raise OptionError(
                "causal, window and alibi are not supported here: causality and windows are part of the BlockMask"
            )
        self.config = config
        self._heads = _Projections(config, weights)

    def __call__(self, x: ArrayLike, mask: BlockMask, *, key_padding_mask: ArrayLike | None = None) -> Floats:
        """Return (B, T, dim) for x (B, T, dim), with the T of the mask; `key_padding_mask` as in `sparse_attention`."""
        q, k, v = self._heads.heads(x)
        found = sparse_attention(q, k, v, mask, key_padding_mask=key_padding_mask, scale=self.config.scale)
        return self._heads.output(found)
