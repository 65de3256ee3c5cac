"""Encoder and decoder layers, stacks of layers, and the head for logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import renamed
from tokkit._core.nn.encoder import PackedEncoder
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, current_threads, floats, starts_of, under
from tokkit.nn.attention import DistanceBias
from tokkit.nn.config import TransformerConfig
from tokkit.nn.encoder import check_config
from tokkit.nn.feed_forward import FeedForward
from tokkit.nn.kv_cache import KVCache, Use
from tokkit.nn.linear import Linear
from tokkit.nn.multi_head import MultiHeadAttention
from tokkit.nn.norms import LayerNorm, RMSNorm
from tokkit.nn.positions import RelativeBias


def make_norm(config: TransformerConfig, weights: Mapping[str, Any]) -> LayerNorm | RMSNorm:
    """Return the norm of the configuration with these weights."""
    norm = LayerNorm if config.norm == "layer" else RMSNorm
    return norm(weights, dim=config.dim, eps=config.eps)


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
        mask: ArrayLike | None = None,
        key_padding_mask: ArrayLike | None = None,
        bias: DistanceBias | None = None,
        cu_seqlens: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        cache: KVCache | None = None,
        memory_padding_mask: ArrayLike | None = None,
        memory_cu_seqlens: ArrayLike | None = None,
        return_weights: bool = False,
    ) -> Any:
        """Return (B, T, dim) for x (B, T, dim) and, with cross-attention, a memory (B, S, memory_dim).

        `memory_padding_mask` (B, S): True = ignore; `memory_cu_seqlens` is for a packed memory (1, total, memory_dim)
        with packed x (1, total, dim). The other options are those of the self-attention, a `MultiHeadAttention`.
        `return_weights` returns (outputs, weights (B, n_heads, T, T)), and with cross-attention (outputs, weights,
        weights on the memory (B, n_heads, T, S)); with a `cache`, S includes all kept keys.

        Raises ShapeError for arrays of other shapes, OptionError for options that this layer does not support; the
        cache is then unchanged.
        """
        made = floats(x, "x")
        if made.ndim != 3 or made.shape[2] != self.config.dim:
            raise ShapeError(f"x has shape {made.shape}; it must be (B, T, {self.config.dim})")
        no_memory = memory is None and memory_padding_mask is None and memory_cu_seqlens is None
        if self.cross is None and not no_memory:
            raise OptionError("this layer has no cross-attention; that needs cross=True in its configuration")
        plain = mask is None and key_padding_mask is None and bias is None and cu_seqlens is None
        # The core distributes sequences over threads; separate calls also distribute the parts of a sequence.
        if (
            self._whole is not None and plain and positions is None and cache is None and not return_weights
            and current_threads() <= len(made)
        ):  # fmt: skip
            return self._at_once(self._whole, made)
        seen: list[Floats] = []
        with Use() if cache is None else Use(cache):
            found = self.attention(
                self._before("attention", made), mask=mask, key_padding_mask=key_padding_mask, bias=bias,
                cu_seqlens=cu_seqlens, positions=positions, cache=cache, residual=made, return_weights=return_weights,
            )  # fmt: skip
            made = self._after("attention", found, seen)
            if self.cross is not None:
                found = self.cross(
                    self._before("cross", made), memory, key_padding_mask=memory_padding_mask, cu_seqlens=cu_seqlens,
                    memory_cu_seqlens=memory_cu_seqlens, residual=made, return_weights=return_weights,
                )  # fmt: skip
                made = self._after("cross", found, seen)
            found = self.feed_forward(self._before("feed_forward", made), residual=made)
            made = self._after("feed_forward", found, seen)
        return (made, *seen) if return_weights else made

    def _packed(self) -> PackedEncoder | None:
        """Return the layer packed for one call of the core, which is faster for short texts; None if not supported."""
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
        made = np.array(x, order="C")  # a copy, because the core works in place
        encoder.run(made.reshape(-1, dim), np.arange(batch + 1) * length, threads=current_threads())
        return made

    def _before(self, part: str, x: Floats) -> Floats:
        return self.norms[part](x) if self.config.pre_norm else x

    def _after(self, part: str, found: Any, seen: list[Floats]) -> Floats:
        # `found` is x + part(…), or a tuple of that and the weights, which are appended to `seen`.
        summed: Floats = found
        if isinstance(found, tuple):
            summed, weights = found
            seen.append(weights)
        return summed if self.config.pre_norm else self.norms[part](summed, out=summed)


class EncoderLayer(Layer):
    """An encoder layer; with `causal` in its configuration, a GPT layer."""


class DecoderLayer(Layer):
    """A decoder layer with cross-attention: `causal` and `cross` are set."""

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        super().__init__(replace(config, causal=True, cross=True), weights)


class Stack:
    """A stack of n_layers layers, with `pre_norm` followed by a norm. Weights: `TransformerConfig.shapes`.

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
        """Return an empty cache for each layer, the state for decoding one batch.

        OptionError if decoding in parts would change results: without causal=True in the configuration, or with a
        `window` smaller than that of the configuration.
        """
        made = [KVCache(capacity=capacity, window=window) for _ in self.layers]
        self.layers[0].attention.check_cache(made[0])
        return made

    @overload
    def __call__(
        self, x: ArrayLike, memory: ArrayLike | None = None, *, caches: Sequence[KVCache] | None = None,
        cu_seqlens: ArrayLike | None = None, return_weights: Literal[False] = False, **options: Any,
    ) -> Floats: ...  # fmt: skip
    @overload
    def __call__(
        self, x: ArrayLike, memory: ArrayLike | None = None, *, caches: Sequence[KVCache] | None = None,
        cu_seqlens: ArrayLike | None = None, return_weights: Literal[True], **options: Any,
    ) -> tuple[Floats, ...]: ...  # fmt: skip
    def __call__(
        self,
        x: ArrayLike,
        memory: ArrayLike | None = None,
        *,
        caches: Sequence[KVCache] | None = None,
        cu_seqlens: ArrayLike | None = None,
        return_weights: bool = False,
        **options: Any,
    ) -> Floats | tuple[Floats, ...]:
        """Return (B, T, dim) for x (B, T, dim); or packed, (total, dim) for x (total, dim) with `cu_seqlens`.

        Packed sequences give the same results as padded ones, without computing padding; their memory is packed too:
        (total, memory_dim) with `memory_cu_seqlens`. `caches`, from `caches()`, hold the keys and values of earlier
        tokens; x contains the tokens after them. `return_weights` returns (outputs, weights (n_layers, B, n_heads, T,
        T)), and with cross-attention (outputs, weights, weights on the memory (n_layers, B, n_heads, T, S)); with
        `caches`, all kept keys are included. Other options are those of `Layer`.

        Raises ShapeError for arrays of other shapes, OptionError for options that this stack does not support; the
        caches are then unchanged.
        """
        made = floats(x, "x")
        packed = cu_seqlens is not None
        if made.ndim != (2 if packed else 3) or made.shape[-1] != self.config.dim:
            wanted = f"(total, {self.config.dim})" if packed else f"(B, T, {self.config.dim})"
            raise ShapeError(f"x has shape {made.shape}; it must be {wanted}")
        starts = None if cu_seqlens is None else starts_of(cu_seqlens, len(made), "cu_seqlens")
        source = None if memory is None else floats(memory, "memory")
        if packed:
            made = made[None]
            if source is not None and source.ndim != 2:
                raise ShapeError(f"memory has shape {source.shape}; it must be packed like x: (total, memory_dim)")
            source = None if source is None else source[None]
        seen: list[Sequence[Floats]] = []
        with Use(*caches or ()):
            if caches is not None:
                self._check_caches(caches)
            if self._relative is not None:
                if options.get("bias") is not None:
                    raise OptionError("this stack computes its bias from relative_buckets; leave bias out")
                options["bias"] = self._bias(self._relative, made.shape[1], caches, starts)
            for i, layer in enumerate(self.layers):
                cache = None if caches is None else caches[i]
                found = layer(made, source, cu_seqlens=starts, cache=cache, return_weights=return_weights, **options)
                made = found[0] if return_weights else found
                if return_weights:
                    seen.append(found[1:])
            if self.norm is not None:
                made = self.norm(made)
            weights = tuple(np.stack(of_layers) for of_layers in zip(*seen, strict=True))
        made = made[0] if packed else made
        return (made, *weights) if return_weights else made

    def _check_caches(self, caches: Sequence[KVCache]) -> None:
        if len(caches) != len(self.layers):
            raise ShapeError(f"there are {len(caches)} caches; each of the {len(self.layers)} layers needs one")
        if len({id(cache) for cache in caches}) != len(caches):
            raise OptionError("several layers have the same cache; each needs its own, as created by caches()")
        held = {(cache.length, cache.first, cache.window) for cache in caches}
        if len(held) > 1:
            lengths = [cache.length for cache in caches]
            raise ShapeError(f"the caches have seen {lengths} tokens; all caches of a stack must have the same number")

    @staticmethod
    def _bias(
        relative: RelativeBias, length: int, caches: Sequence[KVCache] | None, starts: NDArray[np.int64] | None
    ) -> DistanceBias:
        if caches is None:
            longest = length if starts is None else int(np.diff(starts).max(initial=0))
            return relative(longest, longest)
        cache = caches[0]
        kept = cache.length - cache.first
        if cache.window is not None:
            kept = min(kept, cache.window - 1)
        return relative(length, kept + length, offset=kept)


class Encoder(Stack):
    """A stack of encoder layers (BERT); with `causal` in its configuration, a GPT or Llama."""


class Decoder(Stack):
    """A stack of decoder layers with cross-attention to an encoder's output: `causal` and `cross` are set."""

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        super().__init__(replace(config, causal=True, cross=True), weights)


class LMHead:
    """The output layer: hidden states (…, dim) → logits (…, vocab_size).

    In tied models `weight` is that of the embedding.
    """

    @renamed.keywords(kind="dtype")
    def __init__(self, weight: ArrayLike, bias: ArrayLike | None = None, *, dtype: str = "float32") -> None:
        self._linear = Linear(weight, bias, dtype=dtype)

    def __call__(self, x: ArrayLike, *, out: Floats | None = None) -> Floats:
        """Return x weightᵀ + bias; an `out` that overlaps x raises ShapeError."""
        return self._linear(x, out=out)
