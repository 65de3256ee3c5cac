"""Tokens in, tokens out: encoder and decoder layers, the stacks of them, and the head that makes logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit._core.encoder import PackedEncoder
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, current_threads, floats, under
from tokkit.nn.attention import DistanceBias
from tokkit.nn.config import TransformerConfig
from tokkit.nn.encoder import check_config
from tokkit.nn.feed_forward import FeedForward
from tokkit.nn.kv_cache import KVCache
from tokkit.nn.linear import Linear
from tokkit.nn.multi_head import MultiHeadAttention
from tokkit.nn.norms import LayerNorm, RMSNorm
from tokkit.nn.positions import RelativeBias


def make_norm(config: TransformerConfig, weights: Mapping[str, Any]) -> LayerNorm | RMSNorm:
    """Return the norm that the configuration names, with these weights."""
    kind = LayerNorm if config.norm == "layer" else RMSNorm
    return kind(weights, dim=config.dim, eps=config.eps)


class Layer:
    """Attention, with `cross` attention to a memory, and a feed-forward, each with a residual and a norm.

    Post-norm (Vaswani et al. 2017): x = norm(x + part(x)); `pre_norm` (Xiong et al. 2020): x = x + part(norm(x)).
    Weights: see `TransformerConfig.layer_shapes`.
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        self.config = config
        self.attention = MultiHeadAttention(config, under(weights, "attention."))
        self.cross: MultiHeadAttention | None = None
        self.feed_forward = FeedForward(config, under(weights, "feed_forward."))
        parts = ["attention", "feed_forward"]
        if config.cross:
            memory_dim = config.memory_dim or config.dim
            self.cross = MultiHeadAttention(config, under(weights, "cross."), memory_dim=memory_dim)
            parts.append("cross")
        self.norms = {part: make_norm(config, under(weights, f"{part}_norm.")) for part in parts}
        self._whole = self._packed()

    def __call__(
        self,
        x: ArrayLike,
        memory: ArrayLike | None = None,
        *,
        memory_padding_mask: ArrayLike | None = None,
        **options: Any,
    ) -> Floats:
        """Return (B, T, dim) for x (B, T, dim) and a memory (B, S, memory_dim) where the layer has cross-attention.

        `memory_padding_mask` (B, S): True = ignore. The other options are those of `MultiHeadAttention`.
        """
        made = floats(x, "x")
        if memory is not None and self.cross is None:
            raise OptionError("this layer has no cross-attention; its configuration wants cross=True")
        # The core shares sequences among threads; the parts one by one share a sequence too.
        fits = made.ndim == 3 and made.shape[2] == self.config.dim and current_threads() <= len(made)
        if self._whole is not None and memory is None and fits and not any(o is not None for o in options.values()):
            return self._at_once(self._whole, made)
        made = self._with("attention", made, lambda y, more: self.attention(y, residual=more, **options))
        if self.cross is not None:
            cross, masked = self.cross, memory_padding_mask
            made = self._with("cross", made, lambda y, more: cross(y, memory, key_padding_mask=masked, residual=more))
        return self._with("feed_forward", made, lambda y, more: self.feed_forward(y, residual=more))

    def _packed(self) -> PackedEncoder | None:
        """Return what runs the whole layer in one call, where the core can: most of a short text's time is calls."""
        attention, norms = self.attention.packed, [self.norms[part] for part in ("attention", "feed_forward")]
        try:
            check_config(self.config)
        except OptionError:
            return None
        arrays = [array for norm in norms if isinstance(norm, LayerNorm) for array in (norm.weight, norm.bias)]
        if attention is None or any(array is None for array in arrays):
            return None
        c = self.config
        matrices = [*attention, *self.feed_forward.packed]
        return PackedEncoder([[*matrices, *arrays]], heads=c.n_heads, dim=c.dim, activation=c.activation, eps=c.eps)

    @staticmethod
    def _at_once(encoder: PackedEncoder, x: Floats) -> Floats:
        batch, length, dim = x.shape
        made = np.array(x, order="C")  # a copy, which the core changes
        encoder.run(made.reshape(-1, dim), np.arange(batch + 1) * length, threads=current_threads())
        return made

    def _with(self, part: str, x: Floats, run: Any) -> Floats:
        norm = self.norms[part]
        if self.config.pre_norm:
            made: Floats = run(norm(x), x)
            return made
        summed = run(x, x)
        return norm(summed, out=summed)


class EncoderLayer(Layer):
    """A layer whose tokens all see one another; with `causal` in its configuration, a GPT's."""


class DecoderLayer(Layer):
    """A layer whose tokens see earlier ones, and the memory: `causal` and `cross` are set."""

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        super().__init__(replace(config, causal=True, cross=True), weights)


class Stack:
    """n_layers layers one after another; with `pre_norm` a norm behind the last. Weights: `TransformerConfig.shapes`.

    >>> config = TransformerConfig(dim=8, n_heads=2, n_layers=3)
    >>> from tokkit.nn.arrays import initial
    >>> Stack(config, initial(config.shapes(), seed=0))(np.ones((1, 5, 8))).shape
    (1, 5, 8)
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        self.config = config
        n = 1 if config.shared_layers else config.n_layers
        layers = [Layer(config, under(weights, f"layers.{i}.")) for i in range(n)]
        self.layers = layers * config.n_layers if config.shared_layers else layers
        self.norm = make_norm(config, under(weights, "norm.")) if config.pre_norm else None
        self._relative: RelativeBias | None = None
        if config.relative_buckets:
            self._relative = RelativeBias(
                under(weights, "relative."), n_heads=config.n_heads, n_buckets=config.relative_buckets,
                max_distance=config.relative_distance, bidirectional=not config.causal,
            )  # fmt: skip

    def caches(self, *, capacity: int | None = None, window: int | None = None) -> list[KVCache]:
        """Return an empty cache for each layer, the state of one batch that is being decoded."""
        return [KVCache(capacity=capacity, window=window) for _ in self.layers]

    def __call__(
        self,
        x: ArrayLike,
        memory: ArrayLike | None = None,
        *,
        caches: Sequence[KVCache] | None = None,
        cu_seqlens: ArrayLike | None = None,
        **options: Any,
    ) -> Floats:
        """Return (B, T, dim) for x (B, T, dim); or packed, (total, dim) for x (total, dim) with `cu_seqlens`.

        Packed sequences give what padded ones give, without computing padding. `caches`, from `caches()`, hold the
        keys and values of earlier tokens: x is then what follows them. Other options are those of `Layer`.
        """
        made = floats(x, "x")
        packed = cu_seqlens is not None
        if made.ndim != (2 if packed else 3) or made.shape[-1] != self.config.dim:
            wanted = f"(total, {self.config.dim})" if packed else f"(B, T, {self.config.dim})"
            raise ShapeError(f"x has shape {made.shape}; it must be {wanted}")
        if caches is not None and len(caches) != len(self.layers):
            raise ShapeError(f"{len(caches)} caches were given for {len(self.layers)} layers")
        if packed:
            made, options["cu_seqlens"] = made[None], cu_seqlens
        if self._relative is not None:
            options["bias"] = self._bias(made.shape[1], caches, cu_seqlens)
        for i, layer in enumerate(self.layers):
            made = layer(made, memory, cache=None if caches is None else caches[i], **options)
        if self.norm is not None:
            made = self.norm(made)
        return made[0] if packed else made

    def _bias(self, length: int, caches: Sequence[KVCache] | None, cu_seqlens: ArrayLike | None) -> DistanceBias | None:
        if self._relative is None:
            return None
        if caches is None:
            longest = length if cu_seqlens is None else int(np.diff(np.asarray(cu_seqlens)).max(initial=0))
            return self._relative(longest, longest)
        cache = caches[0]
        kept = cache.length - cache.first
        if cache.window is not None:
            kept = min(kept, cache.window - 1)
        return self._relative(length, kept + length, offset=kept)


class Encoder(Stack):
    """A stack whose tokens see one another (BERT); with `causal` in its configuration, a GPT's or Llama's."""


class Decoder(Stack):
    """A stack whose tokens see earlier ones, and the memory of an encoder: `causal` and `cross` are set."""

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        super().__init__(replace(config, causal=True, cross=True), weights)


class LMHead:
    """Hidden states (…, dim) in, logits (…, vocab_size) out; `weight` is the embedding's where they are tied."""

    def __init__(self, weight: ArrayLike, bias: ArrayLike | None = None, *, kind: str = "float32") -> None:
        self._linear = Linear(weight, bias, kind=kind)

    def __call__(self, x: ArrayLike, *, out: Floats | None = None) -> Floats:
        """Return x weightᵀ + bias."""
        return self._linear(x, out=out)
