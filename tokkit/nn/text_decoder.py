"""`TextDecoder`: GPT-2, Llama and their relatives, from token ids and a cache to hidden states and logits.

`Decoder` of `tokkit.nn.layers` runs any configuration, layer by layer. This class runs language models: all layers
in one call of the core, several sequences at once, each with its own cache. It also runs encoders that have the layers
of a decoder, such as T5's.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.nn.decoder import PackedDecoder
from tokkit._core.nn.linear import PackedLinear
from tokkit.errors import OptionError, ShapeError
from tokkit.nn import experts, functional, long_texts
from tokkit.nn.arrays import Floats, current_threads, floats, ids_of, take
from tokkit.nn.config import GATES
from tokkit.nn.cross_memory import Memory, MemoryProjection
from tokkit.nn.decoder_cache import DecoderCache, checked_dtype
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.distance_tables import DistanceTables
from tokkit.nn.embedding import Table, looked_up
from tokkit.nn.linear import Linear
from tokkit.nn.matrices import Matrices
from tokkit.nn.norms import LayerNorm, RMSNorm
from tokkit.nn.rope import Rope, RopeConfig

STEP_ROWS, STEP_HEADS = 4, 32
"""Limits of new tokens of a sequence, and of these times the query heads per key head, in one call of attention.

Up to both limits the results have the same bits as for one token at a time.
"""
ANGLES = 512
"""The number of positions in the first table of angles; it is doubled when a text is longer."""
CORE_NORMS = {
    "attention": "attention_norm", "forward": "feed_forward_norm", "q": "q_norm", "k": "k_norm",
    "attended": "attended_norm", "forwarded": "forwarded_norm", "cross": "cross_norm",
}  # fmt: skip
"""Name of a norm in the core → its name among the weights."""


class TextDecoder:
    """A causal language model from ids to logits. Immutable: the caller holds the caches.

    Weights: those of `DecoderConfig.shapes`, and optional biases of matrices. If `weights` has an attribute `ready`, it
    contains matrices that are packed already, with the same names as in `matrices`. `cache_dtype` is the dtype of keys
    and values in its caches.

    >>> from tokkit.nn import TransformerConfig, initial
    >>> layers = TransformerConfig(dim=8, n_heads=2, n_layers=2, norm="rms", pre_norm=True, causal=True)
    >>> config = DecoderConfig(layers=layers, vocab_size=9, positions=16, tied=True)
    >>> decoder = TextDecoder(config, initial(config.shapes(), seed=0))
    >>> cache = decoder.cache()
    >>> decoder.logits(decoder([[1, 4, 2]], [cache])).shape, cache.length
    ((3, 9), 3)
    """

    def __init__(self, config: DecoderConfig, weights: Mapping[str, Any], *, cache_dtype: str = "float32") -> None:
        c = config.layers
        self.config, self.cache_dtype = config, checked_dtype(cache_dtype)
        self.words: NDArray[Any] | Table = weights["word.weight"]
        if self.words.shape != (config.vocab_size, c.dim):
            raise ShapeError(f"word.weight has shape {self.words.shape}; it must be {(config.vocab_size, c.dim)}")
        self._positions = None
        if config.positions:
            rows = config.position_offset + config.positions
            self._positions = take(weights, "position.weight", (rows, c.dim))[config.position_offset :]
        self._types = take(weights, "type.weight", (config.types, c.dim)) if config.types else None
        self._embedding_norm = self._norm(weights, "embedding_norm") if config.embedding_norm else None
        self._last = self._norm(weights, "norm") if c.pre_norm else None
        self._ropes = _Ropes(c.rope, config.local_rope)
        self._long_from = long_texts.limit_of(config)
        rope = c.rope
        matrices = Matrices(weights, c.dtype)
        self.parts = [self._layer(weights, matrices, i) for i in range(c.n_layers)]
        """For each layer, name in the core → packed matrix, norm (weight, bias), window or index of its rope."""
        self._decoder = PackedDecoder(
            self.parts,
            dim=c.dim, heads=c.n_heads, kv_heads=c.kv_heads, head_dim=c.head_size, hidden=c.hidden,
            rms=c.norm == "rms", activation=GATES.get(c.activation, c.activation),
            gated=config.gated, parallel=config.parallel, pairs=rope is not None and rope.interleaved, eps=c.eps,
            scale=c.head_size**-0.5 if c.scale is None else c.scale, cap=config.cap, post_norm=not c.pre_norm,
            bidirectional=not c.causal,
        )  # fmt: skip
        self._distances = DistanceTables(c, weights)
        self._remembered = MemoryProjection(config, matrices) if c.cross else None
        self._head = self._packed_head(weights, matrices) if config.head else None
        self.matrices: dict[str, PackedLinear] = matrices.packed
        """Name of a packed matrix → the matrix; for example "layers.0.qkv" and "head"."""
        self.sources: dict[str, tuple[str, ...]] = matrices.sources
        """Name of a packed matrix → names of the weights in it."""

    def _packed_head(self, weights: Mapping[str, Any], matrices: Matrices) -> Linear:
        config, own = self.config, {}
        if "head" not in getattr(weights, "ready", ()):
            own["head.weight"] = _as_float32(weights["word.weight" if config.tied else "head.weight"])
            if "head.bias" in weights:
                own["head.bias"] = weights["head.bias"]
        return Linear.over(matrices.pack("head", {"head": (config.vocab_size, config.layers.dim)}, weights=own))

    def _norm(self, weights: Mapping[str, Any], name: str) -> LayerNorm | RMSNorm:
        c = self.config.layers
        own = {part: weights[f"{name}.{part}"] for part in ("weight", "bias") if f"{name}.{part}" in weights}
        return (LayerNorm if c.norm == "layer" else RMSNorm)(own, dim=c.dim, eps=c.eps)

    def _layer(self, weights: Mapping[str, Any], matrices: Matrices, i: int) -> dict[str, Any]:
        config, c, prefix = self.config, self.config.layers, f"layers.{i}."
        shapes = config.matrices(i)
        up = ("feed_forward.gate", "feed_forward.up") if config.gated else ("feed_forward.up",)
        parts = {"qkv": ("attention.q", "attention.k", "attention.v"), "o": ("attention.o",)}
        if not config.has_experts(i):
            parts |= {"up": up, "down": ("feed_forward.down",)}
        if c.cross:
            parts |= {"cross_q": ("cross.q",), "cross_o": ("cross.o",)}
        made: dict[str, Any] = {
            name: matrices.pack(prefix + name, {prefix + part: shapes[f"{part}.weight"] for part in of})
            for name, of in parts.items()
        }
        if config.has_experts(i):
            made["experts"] = experts.packed(config, matrices, i)
        columns = config.norm_names(i)
        for core, name in CORE_NORMS.items():
            if name in columns:
                bias = None
                if c.norm == "layer" and config.norm_bias:
                    bias = np.array(take(weights, f"{prefix}{name}.bias", (columns[name],)))
                made[core] = np.array(take(weights, f"{prefix}{name}.weight", (columns[name],))), bias
        made["window"] = config.window(i)
        local = config.local_rope is not None and made["window"] is not None
        made["rope"] = -1 if c.rope is None else int(local)
        return made

    def cache(self, *, capacity: int | None = None, memory: Memory | None = None) -> DecoderCache:
        """Return an empty cache for one sequence: it grows, or has room for `capacity` tokens.

        A decoder with cross-attention needs the `memory` of an encoder, which its tokens attend to.
        """
        c = self.config.layers
        if (memory is None) == c.cross:
            raise OptionError(f"the layers have cross={c.cross}; {'give a' if c.cross else 'there is no'} memory")
        cache = DecoderCache(
            n_layers=c.n_layers, kv_heads=c.kv_heads, head_dim=c.head_size, capacity=capacity, dtype=self.cache_dtype,
            windows=self.config.windows,
        )  # fmt: skip
        cache.memory = memory
        return cache

    def with_cache(self, dtype: str) -> TextDecoder:
        """Return a decoder with the same weights whose caches have keys and values of this dtype."""
        made = copy.copy(self)
        made.cache_dtype = checked_dtype(dtype)
        return made

    def memory(self, hidden: Floats) -> Memory:
        """Return the memory for this decoder's layers from hidden states (length, memory_dim) of an encoder."""
        if self._remembered is None:
            raise OptionError("a memory is given; the layers have cross=False and attend only to their own text")
        return self._remembered(hidden)

    def __call__(
        self, ids: Sequence[ArrayLike], caches: Sequence[DecoderCache] | None = None, *, states: Floats | None = None,
        as_steps: Collection[int] = (),
    ) -> Floats:  # fmt: skip
        """Return hidden states (total, dim) after the last norm, for new ids of several sequences, one after another.

        caches[i] holds the tokens before ids[i], and ids[i] are added to it; without caches, each sequence is a whole
        text, and nothing is kept. The output of each layer, before the last norm, is written to `states`
        (n_layers, total, dim). For sequences whose indices are in `as_steps`, the results have the same bits as for
        one token at a time. An id outside the table raises IndexError, more tokens than there are positions ShapeError;
        the caches are then unchanged.
        """
        arrays = [np.atleast_1d(ids_of(each)) for each in ids]
        if caches is not None and not len(arrays) == len(caches) == len({id(cache) for cache in caches}):
            raise OptionError(
                f"there are {len(caches)} caches for {len(arrays)} sequences; give one for each, all different"
            )
        if caches is None and self.config.layers.cross:
            raise OptionError("no caches are given; this decoder attends to a memory, which is in its caches")
        if caches is not None and not self.config.layers.causal:
            raise OptionError("caches are given; these layers are not causal and cannot have caches: give whole texts")
        for array in arrays:
            if array.ndim != 1:
                raise ShapeError(f"the ids of a sequence have shape {array.shape}; they must be one row")
        rows = np.array([len(array) for array in arrays], dtype=np.int64)
        before = np.array([0 if caches is None else caches[i].length for i in range(len(arrays))], dtype=np.int64)
        x = self._embedded(np.concatenate([*arrays, np.empty(0, np.int64)]), rows, before)
        if self._long_from is not None:
            made = long_texts.read(self, arrays, caches, self._long_from, states=states, as_steps=as_steps)
            if made is not None:
                return made
        spans = self._spans(rows.tolist(), () if caches is None else as_steps)
        kept, memories = None, None
        if caches is not None:
            for cache, n in zip(caches, rows.tolist(), strict=True):
                cache.reserve(n)
            kept = [(caches[i].packed, caches[i].length + start) for i, start, _ in spans]
            if self.config.layers.cross:
                found = [caches[i].memory for i, _, _ in spans]
                memories = [(m.keys, m.values) for m in found if m is not None]
        longest = int((before + rows).max(initial=0))
        by_distance, zero = self._distances(len(x), longest)
        self._decoder.run(
            x, np.array([n for *_, n in spans], dtype=np.int64), kept, memories=memories, angles=self._ropes(longest),
            by_distance=by_distance, zero=zero, states=states, threads=current_threads(),
        )  # fmt: skip
        for cache, new in zip(caches or (), arrays, strict=caches is not None):
            if self._long_from is not None and (cache.ids is not None or not cache.length):
                cache.ids = np.concatenate([*([] if cache.ids is None else [cache.ids]), new])
            cache.length += len(new)
        return x if self._last is None else self._last(x)

    def _spans(self, rows: list[int], as_steps: Collection[int]) -> list[tuple[int, int, int]]:
        """Return what attention processes at once: index of the sequence, first new token, number of tokens."""
        c = self.config.layers
        few = max(1, min(STEP_ROWS, STEP_HEADS * c.kv_heads // c.n_heads))
        return [
            (i, start, min(few, n - start) if i in as_steps else n)
            for i, n in enumerate(rows)
            for start in (range(0, n, few) if i in as_steps else (0,))
        ]

    def _embedded(
        self, ids: NDArray[np.int64], rows: NDArray[np.int64], first: NDArray[np.int64],
        type_ids: NDArray[np.int64] | None = None,
    ) -> Floats:  # fmt: skip
        x = looked_up(self.words, ids)
        if self.config.embedding_scale != 1:
            x *= np.float32(self.config.embedding_scale)
        if self._positions is not None:
            if rows.size and (first + rows).max() > len(self._positions):
                raise ShapeError(
                    f"a sequence of {(first + rows).max()} tokens is too long; the model has positions for "
                    f"{len(self._positions)}"
                )
            starts = np.repeat(first - (np.cumsum(rows) - rows), rows)
            x += self._positions[starts + np.arange(len(ids))]
        if self._types is not None:
            x += self._types[0] if type_ids is None else looked_up(self._types, type_ids)
        return x if self._embedding_norm is None else self._embedding_norm(x)

    def embedded(
        self, ids: ArrayLike, rows: NDArray[np.int64] | None = None, type_ids: NDArray[np.int64] | None = None
    ) -> Floats:
        """Return the input of the first layer for a whole text: (T, dim) for ids (T).

        `rows` are the lengths of several texts, one after another; `type_ids` (T) are 0 if None.
        """
        row = ids_of(ids)
        lengths = np.array([len(row)]) if rows is None else rows
        return self._embedded(row, lengths, np.zeros(len(lengths), dtype=np.int64), type_ids)

    def run(self, x: Floats, rows: NDArray[np.int64], *, states: Floats | None = None) -> None:
        """Run all layers and the last norm on x (total, dim) in place: whole texts of `rows` tokens, one after another.

        The output of each layer is written to `states` (n_layers, total, dim), that of the last after the last norm.
        """
        longest = int(rows.max(initial=0))
        by_distance, zero = self._distances(len(x), longest)
        self._decoder.run(
            x, rows, None, angles=self._ropes(longest), by_distance=by_distance, zero=zero, states=states,
            threads=current_threads(),
        )  # fmt: skip
        if self._last is not None:
            self._last(x, out=x)
            if states is not None:
                states[-1] = x

    def distance_bias(self, n: int) -> Floats | None:
        """Return the bias of the scores of n tokens by distance: (n_heads, n, n), or None if there is no bias."""
        table, zero = self._distances(n, n)
        return None if table is None else table[:, zero + np.arange(n)[:, None] - np.arange(n)]

    def rotated(self, q: Floats, layer: int) -> Floats:
        """Return queries or keys (heads, T, head_dim) of a whole text, rotated by the rope of a layer."""
        c = self.config
        if c.layers.rope is None:
            return q
        rope = c.local_rope if c.local_rope is not None and c.window(layer) is not None else c.layers.rope
        made: Floats = Rope(rope)(q[None], np.arange(q.shape[1]), length=q.shape[1])[0]
        return made

    def head_of(self, states: Floats) -> Floats:
        """Return the logits (…, vocab_size) of the head for the output of any layer (logit lens)."""
        return self.logits(states if self._last is None else self._last(states))

    def logits(self, hidden: Floats) -> Floats:
        """Return the logits (…, vocab_size) of hidden states (…, dim) after the last norm."""
        if self._head is None:
            raise OptionError("this model has no head, so it has no logits; use its hidden states")
        if self.config.head_scale != 1:
            hidden = hidden * np.float32(self.config.head_scale)
        made = self._head(hidden)
        if self.config.logit_cap:
            cap = np.float32(self.config.logit_cap)
            made /= cap
            functional.activate(made, "tanh", out=made)
            made *= cap
        return made


class _Ropes:
    """The angles of a decoder's ropes for positions from 0 on; the tables grow with the longest text."""

    def __init__(self, *configs: RopeConfig | None) -> None:
        self._ropes = [Rope(config) for config in configs if config is not None]
        self._tables: dict[bool, tuple[int, list[tuple[Floats, Floats]]]] = {}

    def __call__(self, length: int) -> list[tuple[Floats, Floats]]:
        """Return cosines and sines (at least `length`, half) of each rope."""
        beyond = [rope.config for rope in self._ropes if length > rope.config.original_length]
        if any(config.scaling == "dynamic" for config in beyond):
            return [rope.angles(np.arange(length), length=length) for rope in self._ropes]
        long = any(config.long_factors is not None for config in beyond)
        held, tables = self._tables.get(long, (0, []))
        if held < length:
            held = max(ANGLES, 1 << (length - 1).bit_length())
            tables = [rope.angles(np.arange(held), length=held if long else 0) for rope in self._ropes]
            self._tables[long] = held, tables  # replaced as a whole, so that threads can share it
        return tables


def _as_float32(weight: Any) -> Floats:
    if hasattr(weight, "rows"):  # a `Table`
        made: Floats = weight.float32()
        return made
    if weight.dtype == np.uint16:
        made = (weight.astype(np.uint32) << 16).view(np.float32)
        return made
    return floats(weight, "head.weight")
