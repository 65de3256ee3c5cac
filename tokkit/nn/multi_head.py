"""Multi-head attention: projections, heads, positions and caches around `attention`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.nn.attention import FAR
from tokkit._core.nn.linear import PackedLinear
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, added_rows, floats, starts_of, take_all
from tokkit.nn.attention import DistanceBias, attention, band_of
from tokkit.nn.config import TransformerConfig
from tokkit.nn.kv_cache import KVCache, Use
from tokkit.nn.linear import Linear, buffer
from tokkit.nn.positions import alibi
from tokkit.nn.rope import Rope, RopeConfig


class MultiHeadAttention:
    """Attention of n_heads heads with projections q, k, v and o: self-attention, or cross-attention to a memory.

    With fewer key heads than query heads it is grouped-query attention (Ainslie et al. 2023), with one key head
    multi-query attention (Shazeer 2019). Weights: see `TransformerConfig.attention_shapes`.

    >>> config = TransformerConfig(dim=8, n_heads=2)
    >>> from tokkit.nn.arrays import initial
    >>> MultiHeadAttention(config, initial(config.attention_shapes(), seed=0))(np.ones((1, 3, 8))).shape
    (1, 3, 8)
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any], *, memory_dim: int | None = None) -> None:
        self.config, self.memory_dim = config, memory_dim
        taken = take_all(weights, config.attention_shapes(memory_dim))
        # q, k and v of the same tokens are computed in one product; a row contains all three of one token.
        names = ("q", "k", "v")
        self._joined = Linear.of(taken, names, dtype=config.dtype) if memory_dim is None else None
        self._q = Linear.of(taken, names[:1], dtype=config.dtype) if memory_dim is not None else None
        self._kv = Linear.of(taken, names[1:], dtype=config.dtype) if memory_dim is not None else None
        self._o = Linear.of(taken, ("o",), dtype=config.dtype)
        self._ropes = None if config.rope is None or memory_dim is not None else _ropes(config, config.rope)
        _, self._left, self._right = band_of(config.window, config.causal, 0)

    def __call__(
        self,
        x: ArrayLike,
        memory: ArrayLike | None = None,
        *,
        mask: ArrayLike | None = None,
        key_padding_mask: ArrayLike | None = None,
        bias: DistanceBias | None = None,
        cu_seqlens: ArrayLike | None = None,
        memory_cu_seqlens: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        cache: KVCache | None = None,
        residual: ArrayLike | None = None,
        return_weights: bool = False,
    ) -> Any:
        """Return (B, T, dim) for x (B, T, dim), plus residual if given, or (outputs, weights (B, n_heads, T, S)).

        In cross-attention the keys and values come from `memory` (B, S, memory_dim). `positions` (T) or (B, T) are for
        rope, by default 0 … T - 1 after those of the cache. `mask`, `key_padding_mask`, `bias` (replaces the
        configuration's ALiBi) and `cu_seqlens` are those of `attention`; packed x is (1, total, dim), and a packed
        memory (1, memory total, memory_dim) needs `memory_cu_seqlens`. `cache` holds earlier keys and values of this
        layer; it requires causal attention, and its window must not be smaller. `residual` is (B, T, dim).

        Raises ShapeError for arrays of other shapes, OptionError for options that this attention does not support; the
        cache is then unchanged.
        """
        made = floats(x, "x")
        c = self.config
        if made.ndim != 3 or made.shape[2] != c.dim:
            raise ShapeError(f"x has shape {made.shape}; it must be (B, T, {c.dim})")
        batch, length = made.shape[:2]
        more = added_rows(residual, made.shape)
        if positions is not None and self._ropes is None:
            raise OptionError("positions are given, but this attention has no rope; leave them out")
        starts = None if cu_seqlens is None else starts_of(cu_seqlens, length, "cu_seqlens")
        if cache is not None:
            self.check_cache(cache)
            if starts is not None:
                raise OptionError(
                    "cu_seqlens and cache are given; give only one of them, because a cache holds unpacked sequences"
                )
        start = 0 if cache is None else cache.length
        q, k, v = self._projected(made, memory)
        of_keys = self._memory_starts(starts, memory_cu_seqlens, k.shape[2])
        if self._ropes is not None:
            where = self._positions(positions, starts, length, start)
            for rope, part in zip(self._ropes, (q, k), strict=True):
                rope(part, where, out=part)
        mixed = buffer(batch * length, c.n_heads * c.head_size)
        heads, offset = _heads(mixed, batch, length, c.n_heads), 0
        with Use() if cache is None else Use(cache):
            if cache is not None:
                if cache.length != start:
                    raise OptionError("another thread changed this cache; use separate caches for each thread")
                k, v = cache.append(k, v)
                offset = start - cache.first
            if c.alibi and bias is None and memory is None:
                bias = alibi(c.n_heads, length, k.shape[2], offset=offset)
            found = attention(
                q, k, v, mask=mask, key_padding_mask=key_padding_mask, bias=bias, cu_seqlens=starts,
                cu_seqlens_k=of_keys, is_causal=c.causal and memory is None,
                window=c.window if memory is None else None, causal_offset=offset, scale=c.scale,
                return_weights=return_weights, out=heads,
            )  # fmt: skip
            out = np.empty((batch * length, c.dim), dtype=np.float32)
            result = self._o.rows(mixed, out, "identity", more).reshape(batch, length, c.dim)
        return (result, found[1]) if return_weights else result

    def check_cache(self, cache: KVCache) -> None:
        """Raise OptionError for a cache with which decoding in parts would change the outputs."""
        if self.memory_dim is not None:
            raise OptionError("a cache needs self-attention; cross-attention takes its whole memory")
        if self._right > 0:
            raise OptionError("a cache needs causal attention: causal=True in the configuration")
        if cache.window is not None and cache.window <= self._left:
            all_of_them = "all earlier ones" if self._left >= FAR else f"{self._left + 1}, itself included"
            raise OptionError(
                f"the cache keeps the last {cache.window} tokens, but with the window {self.config.window} of the "
                f"configuration a token sees {all_of_them}; the cache must keep them"
            )

    @property
    def packed(self) -> tuple[PackedLinear, PackedLinear] | None:
        """The fused matrix of q, k and v, and the matrix of o; None for cross-attention."""
        return None if self._joined is None else (self._joined.packed, self._o.packed)

    def _projected(self, x: Floats, memory: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
        # Queries (B, H, T, D), keys and values (B, G, S, D), each a view of one product's columns.
        c, (batch, length) = self.config, x.shape[:2]
        h, g = c.n_heads, c.kv_heads
        rows = x.reshape(batch * length, c.dim)
        if self._joined is not None:
            if memory is not None:
                raise ShapeError(
                    "this is self-attention, which takes no memory; cross-attention is created with memory_dim"
                )
            made = self._joined.rows(rows, buffer(len(rows), self._joined.shape[0]))
            all_heads = _heads(made, batch, length, h + 2 * g)
            return all_heads[:, :h], all_heads[:, h : h + g], all_heads[:, h + g :]
        if memory is None or self._q is None or self._kv is None:
            raise ShapeError(f"this is cross-attention: give a memory (B, S, {self.memory_dim})")
        source = floats(memory, "memory")
        if source.ndim != 3 or source.shape[0] != batch or source.shape[2] != self.memory_dim:
            raise ShapeError(f"memory has shape {source.shape}; it must be ({batch}, S, {self.memory_dim})")
        q = self._q.rows(rows, buffer(len(rows), self._q.shape[0]))
        kv = self._kv.rows(source.reshape(-1, source.shape[2]), buffer(batch * source.shape[1], self._kv.shape[0]))
        both = _heads(kv, batch, source.shape[1], 2 * g)
        return _heads(q, batch, length, h), both[:, :g], both[:, g:]

    def _memory_starts(
        self, starts: NDArray[np.int64] | None, given: ArrayLike | None, length: int
    ) -> NDArray[np.int64] | None:
        if given is None:
            if starts is not None and self.memory_dim is not None:
                raise OptionError("x is packed by cu_seqlens; pack the memory too, and give memory_cu_seqlens")
            return None
        if starts is None or self.memory_dim is None:
            raise OptionError("memory_cu_seqlens needs cross-attention and the cu_seqlens of x")
        made = starts_of(given, length, "memory_cu_seqlens")
        if len(made) != len(starts):
            raise ShapeError(
                f"cu_seqlens has {len(starts)} numbers and memory_cu_seqlens {len(made)}; they must be equal, one "
                "memory per sequence"
            )
        return made

    @staticmethod
    def _positions(given: ArrayLike | None, starts: NDArray[np.int64] | None, length: int, start: int) -> ArrayLike:
        if given is not None:
            return given
        if starts is None:
            return np.arange(start, start + length)
        return np.arange(length) - np.repeat(starts[:-1], np.diff(starts))


def _ropes(config: TransformerConfig, rope: RopeConfig) -> tuple[Rope, Rope]:
    # The ropes of queries and of keys.
    factors, group = rope.head_factors, config.n_heads // config.kv_heads
    if factors is None or group == 1:
        both = Rope(rope)
        return both, both
    # Scores depend only on the distance if query and key have the same rotation, so a key head can have only one.
    shared = factors[::group]
    if tuple(factors) != tuple(factor for factor in shared for _ in range(group)):
        raise OptionError(
            f"rope.head_factors is {factors}; each {group} query heads share a key head, and must have equal factors"
        )
    return Rope(rope), Rope(replace(rope, head_factors=shared))


def _heads(rows: Floats, batch: int, length: int, n: int) -> Floats:
    # (B T, n D), whose rows may be padded, as (B, n, T, D) without a copy.
    d, step = rows.shape[1] // n, rows.strides[0]
    shape, strides = (batch, n, length, d), (length * step, d * 4, step, 4)
    return np.ndarray(shape, dtype=np.float32, buffer=rows.base if rows.base is not None else rows, strides=strides)


class SelfAttention(MultiHeadAttention):
    """Single-head attention over the whole width, with weights q, k, v and o."""

    def __init__(self, dim: int, weights: Mapping[str, Any], *, causal: bool = False, bias: bool = True) -> None:
        super().__init__(TransformerConfig(dim=dim, n_heads=1, causal=causal, bias=bias), weights)


class GroupedQueryAttention(MultiHeadAttention):
    """Attention whose key and value heads serve several query heads each (Ainslie et al. 2023)."""

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        if config.n_kv_heads is None:
            raise OptionError("grouped-query attention needs n_kv_heads in its configuration")
        super().__init__(config, weights)


class MultiQueryAttention(MultiHeadAttention):
    """Attention with one key and value head for all query heads, also to an encoder's memory (Shazeer 2019).

    For a memory of S tokens 2·S·head_dim numbers are stored and read per step, 1 / n_heads of multi-head attention.
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any], *, memory_dim: int | None = None) -> None:
        super().__init__(replace(config, n_kv_heads=1), weights, memory_dim=memory_dim)
