"""Recurrence over segments: Transformer-XL's relative attention, compressed memories, and memory tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, floats, take, take_all
from tokkit.nn.attention import attention, check_heads
from tokkit.nn.config import Shapes, TransformerConfig
from tokkit.nn.linear import Linear
from tokkit.nn.positions import sinusoidal


def relative_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    distances: ArrayLike,
    content_bias: ArrayLike,
    position_bias: ArrayLike,
    *,
    scale: float | None = None,
) -> Floats:
    """Return causal attention with scores ((q_i + u)·k_j + (q_i + w)·r_(i-j)) · scale.

    query (B, H, T, D) are the last T of the S tokens of key (B, H, S, D) and value (B, H, S, E) → (B, H, T, E).
    `distances` r (H, S, D): the keys of distances 0 … S - 1. `content_bias` u and `position_bias` w (H, D) are used
    instead of the position of a query. `scale` is 1/√D if None.

    Products with r are computed for all distances; each row is read with its own shift, without a copy. Time
    T·S·(2 D + E), memory T·S per head; short segments keep both small. Raises ShapeError for arrays that do not fit.
    Source: Dai et al. 2019 (Transformer-XL), 3.3 and appendix B.
    """
    q, k, v = (floats(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value")))
    if not q.ndim == k.ndim == v.ndim == 4 or q.shape[2] > k.shape[2] or q.shape[1] != k.shape[1]:
        raise ShapeError(
            f"query, key and value have shapes {q.shape}, {k.shape} and {v.shape}; each must be (B, H, T, D), with no "
            "more queries than keys"
        )
    check_heads(q, k, v)
    (batch, heads, n_queries, d), n_keys = q.shape, k.shape[2]
    r, u, w = (
        floats(array, name)
        for array, name in ((distances, "distances"), (content_bias, "content_bias"), (position_bias, "position_bias"))
    )
    if r.shape != (heads, n_keys, d) or u.shape != (heads, d) or w.shape != (heads, d):
        raise ShapeError(
            f"distances, content_bias and position_bias have shapes {r.shape}, {u.shape} and {w.shape}; they must be "
            f"{(heads, n_keys, d)}, {(heads, d)} and {(heads, d)}"
        )
    scale = d**-0.5 if scale is None and d else scale or 0.0
    # Column c is distance S - 1 - c; query i reads key j in column T - 1 - i + j. Values beyond the row are masked.
    by_distance = np.matmul((q + w[:, None]) * np.float32(scale), r[:, ::-1].swapaxes(1, 2))
    before, of_head, of_row, item = by_distance.strides
    shifted = np.lib.stride_tricks.as_strided(
        by_distance.reshape(-1)[max(n_queries - 1, 0) :], (batch, heads, n_queries, n_keys),
        (before, of_head, of_row - item, item),
    )  # fmt: skip
    made: Floats = attention(
        q + u[:, None], k, v, mask=shifted, is_causal=True, causal_offset=n_keys - n_queries, scale=scale
    )
    return made


class RelativeAttention:
    """Transformer-XL's attention of a segment to itself and to the hidden states of earlier segments.

    Keys and values are projected from [memory; x], queries from x; r_d = W_r R_d with the sinusoids R_d of distance d.
    Weights: q, k, v, o of `TransformerConfig.attention_shapes`, r.weight (n_heads head_dim, dim), content_bias and
    position_bias (n_heads, head_dim). For a segment of T tokens and a memory of M tokens, time and memory grow with
    T·(T + M); the last of L layers sees L·M tokens back. Source: Dai et al. 2019, 3.2 and 3.3.

    >>> config = TransformerConfig(dim=8, n_heads=2)
    >>> from tokkit.nn.arrays import initial
    >>> layer = RelativeAttention(config, initial(RelativeAttention.shapes(config), seed=0))
    >>> layer(np.ones((1, 3, 8)), np.ones((1, 5, 8))).shape
    (1, 3, 8)
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        if config.kv_heads != config.n_heads or config.rope is not None or config.alibi:
            raise OptionError("relative attention needs as many key heads as query heads, and neither rope nor ALiBi")
        self.config = config
        taken = take_all(weights, self.shapes(config))
        self._q, self._k, self._v, self._o = (Linear.of(taken, (name,), dtype=config.dtype) for name in "qkvo")
        self._r = Linear(taken["r.weight"], dtype=config.dtype)
        self._content, self._position = taken["content_bias"], taken["position_bias"]

    @staticmethod
    def shapes(config: TransformerConfig) -> Shapes:
        """Return name → shape of the weights."""
        bias = (config.n_heads, config.head_size)
        more = {
            "r.weight": (config.n_heads * config.head_size, config.dim),
            "content_bias": bias,
            "position_bias": bias,
        }
        return {**config.attention_shapes(), **more}

    def __call__(self, x: ArrayLike, memory: ArrayLike | None = None) -> Floats:
        """Return (B, T, dim) for x (B, T, dim) and memory (B, M, dim): hidden states of tokens before x, or None."""
        made, c = floats(x, "x"), self.config
        held = np.empty((*made.shape[:1], 0, c.dim), dtype=np.float32) if memory is None else floats(memory, "memory")
        if made.ndim != 3 or held.ndim != 3 or made.shape[2] != c.dim or held.shape[::2] != made.shape[::2]:
            raise ShapeError(f"x and memory have shapes {made.shape} and {held.shape}; they must be (B, T, {c.dim})")
        both = np.concatenate([held, made], axis=1)
        r = self._r(sinusoidal(both.shape[1], c.dim)).reshape(both.shape[1], c.n_heads, c.head_size)
        found = relative_attention(
            self._heads(self._q(made)), self._heads(self._k(both)), self._heads(self._v(both)), r.swapaxes(0, 1),
            self._content, self._position, scale=c.scale,
        )  # fmt: skip
        return self._o(found.swapaxes(1, 2).reshape(*made.shape[:2], -1))

    def _heads(self, rows: Floats) -> Floats:
        return rows.reshape(*rows.shape[:2], self.config.n_heads, self.config.head_size).swapaxes(1, 2)


Compress = Callable[[Floats], Floats]
COMPRESS: dict[str, Compress] = {"mean": lambda x: x.mean(2), "max": lambda x: x.max(2)}


class SegmentMemory:
    """The hidden states of earlier segments that a layer attends to: the last `length`, and older ones compressed.

    With `compressed` 0 this is Transformer-XL's memory: older states are dropped. Otherwise every `rate` of the oldest
    states are compressed to one, and the last `compressed` results are kept (Compressive Transformer). `how` is "mean"
    or "max" pooling, or a function (B, n, rate, dim) → (B, n, dim), such as a learned convolution. A layer then sees
    length + rate·compressed tokens back, at the cost of length + compressed. Fewer than `rate` states stay uncompressed
    until there are enough.
    Source: Dai et al. 2019, 3.2; Rae et al. 2020 (Compressive Transformers), 3.1.

    >>> memory = SegmentMemory(4, compressed=2, rate=2)
    >>> for i in range(5):
    ...     memory.append(np.full((1, 2, 1), i, np.float32))
    >>> memory.states[0, :, 0].tolist()
    [1.0, 2.0, 3.0, 3.0, 4.0, 4.0]
    """

    def __init__(self, length: int, *, compressed: int = 0, rate: int = 1, how: str | Compress = "mean") -> None:
        self.length = as_int("length", length, minimum=0)
        self.compressed, self.rate = as_int("compressed", compressed, minimum=0), as_int("rate", rate, minimum=1)
        if isinstance(how, str) and how not in COMPRESS:
            raise OptionError(f"how is {how!r}; it must be 'mean', 'max' or a function")
        self._how: Compress = COMPRESS[how] if isinstance(how, str) else how
        self._recent: Floats | None = None
        self._old: Floats | None = None

    @property
    def states(self) -> Floats | None:
        """The memory (B, n, dim) to pass to a layer, oldest state first; None before the first segment."""
        if self._recent is None or self._old is None:
            return None
        return np.concatenate([self._old, self._recent], axis=1)

    def append(self, hidden: ArrayLike) -> None:
        """Add a layer's input (B, T, dim) for the segment just read; ShapeError if B or dim differs from before."""
        made = floats(hidden, "hidden")
        if made.ndim != 3:
            raise ShapeError(f"hidden has shape {made.shape}; it must be (B, T, dim)")
        if self._recent is None or self._old is None:
            self._recent = self._old = np.empty((made.shape[0], 0, made.shape[2]), dtype=np.float32)
        if self._recent.shape[::2] != made.shape[::2]:
            raise ShapeError(f"hidden has shape {made.shape}, and earlier ones {self._recent.shape}; only T may differ")
        recent = np.concatenate([self._recent, made], axis=1)
        over = max(recent.shape[1] - self.length, 0)
        if self.compressed:
            over -= over % self.rate
            parts = recent[:, :over].reshape(made.shape[0], over // self.rate, self.rate, made.shape[2])
            old = np.concatenate([self._old, floats(self._how(parts), "compressed states")], axis=1)
            self._old = old[:, max(old.shape[1] - self.compressed, 0) :]
        self._recent = recent[:, over:]


class MemoryTokens:
    """Recurrent memory: n memory tokens carry information from each segment to the next.

    Any layers can be used. They read [memory; segment], and their outputs at the memory's positions are the next
    memory. Causal layers read [memory; segment; memory], because only the last n positions see the segment. Weights:
    memory (n, dim), the initial memory. Time L·(s + 2 n) for a text of L tokens in segments of s instead of L².
    Source: Bulatov et al. 2022 (Recurrent Memory Transformer), 3.2.

    >>> tokens = MemoryTokens({"memory": np.zeros((2, 4))}, n=2, dim=4, causal=True)
    >>> outputs, memory = tokens(lambda x: x + 1, np.zeros((1, 10, 4), np.float32), segment=5)
    >>> outputs.shape, memory[0, 0].tolist()
    ((1, 10, 4), [2.0, 2.0, 2.0, 2.0])
    """

    def __init__(self, weights: Mapping[str, Any], *, n: int, dim: int, causal: bool) -> None:
        self.n, self.causal = as_int("n", n, minimum=1), causal
        self.memory = take(weights, "memory", (self.n, as_int("dim", dim, minimum=1)))

    def __call__(
        self, layers: Callable[[Floats], Floats], x: ArrayLike, *, segment: int, memory: ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Return outputs (B, T, dim) of x (B, T, dim) in segments, and the last memory (B, n, dim).

        `layers` maps (B, T, dim) to (B, T, dim). `memory` is the last memory of an earlier call, or None for the
        initial one.
        Raises ShapeError for arrays that do not fit.
        """
        made, segment = floats(x, "x"), as_int("segment", segment, minimum=1)
        if made.ndim != 3 or made.shape[2] != self.memory.shape[1]:
            raise ShapeError(f"x has shape {made.shape}; it must be (B, T, {self.memory.shape[1]})")
        wanted = (made.shape[0], *self.memory.shape)
        held = np.broadcast_to(self.memory, wanted) if memory is None else floats(memory, "memory")
        if held.shape != wanted:
            raise ShapeError(f"memory has shape {held.shape}; it must be {wanted}")
        outputs = np.empty_like(made)
        for first in range(0, made.shape[1], segment):
            part = made[:, first : first + segment]
            parts = [held, part, held] if self.causal else [held, part]
            found = floats(layers(np.concatenate(parts, axis=1)), "what the layers gave")
            outputs[:, first : first + segment] = found[:, self.n : self.n + part.shape[1]]
            held = found[:, -self.n :] if self.causal else found[:, : self.n]
        return outputs, np.ascontiguousarray(held)
