"""Sinusoidal and learned position embeddings, ALiBi, and T5's relative buckets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, floats, ids_of, take
from tokkit.nn.attention import DistanceBias


def sinusoidal(positions: ArrayLike | int, dim: int, *, base: float = 10000.0) -> Floats:
    """Return PE (…, dim) of positions (…), or of 0 … n - 1 for an int n: sin, cos, sin, … of pos / base^(2i/dim).

    PE(pos + k) is a rotation of PE(pos) that depends only on k. An odd `dim` leaves out the last cosine. A negative n,
    a `dim` below 1 and a `base` that is not above 0 raise OptionError. Source: Vaswani et al. 2017, 3.5.

    >>> sinusoidal([1], 4).round(4)
    array([[0.8415, 0.5403, 0.01  , 1.    ]], dtype=float32)
    """
    dim, base = as_int("dim", dim, minimum=1), as_float("base", base, greater_than=0)
    where = np.asarray(_counted(positions))
    if where.dtype.kind not in "iuf" and where.size:
        raise TypeError(f"positions has dtype {where.dtype}; it must be numbers")
    angles = where.astype(np.float64)[..., None] / base ** (np.arange(0, dim, 2) / dim)
    made = np.empty((*where.shape, dim), dtype=np.float32)
    made[..., 0::2] = np.sin(angles)
    made[..., 1::2] = np.cos(angles[..., : dim // 2])
    return made


def with_positions(x: ArrayLike, positions: ArrayLike, *, how: str = "add") -> Floats:
    """Return x (…, T, D) with position vectors (T, D') added (D' = D), or concatenated: (…, T, D + D').

    Positions may also have the leading axes of x, or size 1 for them: (…, T, D'). ShapeError for other shapes.

    >>> with_positions(np.zeros((1, 2, 3)), np.ones((2, 1)), how="concatenate").tolist()
    [[[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]]
    """
    made, pe = floats(x, "x"), floats(positions, "positions")
    if how not in ("add", "concatenate"):
        raise OptionError(f"how is {how!r}; it must be 'add' or 'concatenate'")
    if (
        made.ndim < 2
        or pe.ndim < 2
        or made.shape[-2] != pe.shape[-2]
        or (how == "add" and made.shape[-1] != pe.shape[-1])
    ):
        rule = "lengths and sizes" if how == "add" else "lengths"
        raise ShapeError(f"x has shape {made.shape} and positions {pe.shape}; their {rule} must be equal")
    first, theirs = made.shape[:-2], pe.shape[:-2]
    if len(theirs) > len(first) or any(
        n not in (1, m) for n, m in zip(reversed(theirs), reversed(first), strict=False)
    ):
        raise ShapeError(
            f"x has shape {made.shape} and positions {pe.shape}; the first axes of positions must be those of x, or 1, "
            "or absent"
        )
    if how == "add":
        return made + pe
    return np.concatenate([made, np.broadcast_to(pe, (*made.shape[:-1], pe.shape[-1]))], axis=-1)


class LearnedPositions:
    """A table of position vectors (max_positions, dim), looked up by position (Gehring et al. 2017; BERT, GPT-2).

    `weights` is the table, or a mapping with "weight"; another shape, or none, raises ShapeError.

    >>> LearnedPositions(np.eye(3))(2, start=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, weights: Mapping[str, Any] | ArrayLike) -> None:
        if isinstance(weights, Mapping) and "weight" not in weights:
            raise ShapeError("the weights have no 'weight', which would have shape (positions, dim)")
        self.weight = floats(weights["weight"] if isinstance(weights, Mapping) else weights, "weight")
        if self.weight.ndim != 2:
            raise ShapeError(f"weight has shape {self.weight.shape}; it must be (positions, dim)")

    def __call__(self, positions: ArrayLike | int, *, start: int = 0) -> Floats:
        """Return vectors (…, dim) of positions (…), or (n, dim) of start … start + n - 1 for a number n.

        A position outside the table raises IndexError, a negative n or `start` OptionError.
        """
        start = as_int("start", start, minimum=0)
        where = ids_of(_counted(positions, start), "positions")
        limit = self.weight.shape[0]
        if where.size and (where.min() < 0 or where.max() >= limit):
            below = bool(where.min() < 0)
            bad = int(where.min() if below else where.max())
            advice = "positions begin at 0" if below else f"shorten the sequence to {limit}"
            raise IndexError(f"position {bad} is outside a learned table of {limit} positions; {advice}")
        made: Floats = self.weight[where]
        return made


def alibi_slopes(n_heads: int) -> Floats:
    """Return the slope of each head (H): 2^(-8i/H) for H a power of two; for others as in the paper's code.

    The others use the slopes of the next lower power of two, then every second slope of the next higher one. A number
    of heads below 1 raises OptionError. Source: Press, Smith and Lewis 2022, section 3.

    >>> alibi_slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    n_heads = as_int("n_heads", n_heads, minimum=1)
    lower = 1 << (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8.0 * i / lower) for i in range(1, lower + 1)]
    slopes += [2.0 ** (-4.0 * i / lower) for i in range(1, 2 * (n_heads - lower), 2)]
    return np.array(slopes, dtype=np.float32)


def alibi(n_heads: int, n_queries: int, n_keys: int, *, offset: int = 0) -> DistanceBias:
    """Return -slope * |i + offset - j| for each head, as a bias by distance: a table (H, T + S - 1), not (H, T, S).

    `offset` is the position of the first query, as in `scaled_dot_product_attention`'s causal_offset. Negative numbers
    of queries or keys raise OptionError.
    """
    n_queries, n_keys = as_int("n_queries", n_queries, minimum=0), as_int("n_keys", n_keys, minimum=0)
    offset = as_int("offset", offset)
    distance = np.arange(-(n_keys - 1), n_queries) + offset if n_keys else np.arange(n_queries) + offset
    return DistanceBias(-alibi_slopes(n_heads)[:, None] * np.abs(distance).astype(np.float32), max(n_keys - 1, 0))


def relative_buckets(
    distances: ArrayLike, *, n_buckets: int = 32, max_distance: int = 128, bidirectional: bool = True
) -> NDArray[np.int64]:
    """Return T5's bucket (…) of each distance (…) key - query.

    Small distances have one bucket each, larger ones share buckets of logarithmically growing width. With
    `bidirectional` half of the buckets are for later keys; otherwise these share bucket 0. All distances from
    `max_distance` on share the last bucket. Too few buckets for `max_distance` raise OptionError, distances that are
    not whole numbers TypeError. Source: Raffel et al. 2020, 2.1.

    >>> relative_buckets([0, -1, 1, -200]).tolist()
    [0, 1, 17, 15]
    """
    n_buckets, max_distance = as_int("n_buckets", n_buckets, minimum=1), as_int("max_distance", max_distance, minimum=1)
    distance = ids_of(distances, "distances")
    buckets = np.zeros_like(distance)
    if bidirectional:
        n_buckets //= 2
        buckets += (distance > 0) * n_buckets
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = n_buckets // 2
    if exact < 1 or max_distance <= exact:
        raise OptionError(f"{n_buckets} buckets per side are too few for max_distance, {max_distance}")
    # In float32, as in T5, because a few distances are at the edge of a bucket.
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact)) / np.float32(
        math.log(max_distance / exact)
    )
    far = exact + (ratio * np.float32(n_buckets - exact)).astype(np.int64)
    return buckets + np.where(distance < exact, distance, np.minimum(far, n_buckets - 1))


class RelativeBias:
    """T5's learned bias by bucketed distance, as a bias by distance for `attention`.

    Weights: weight (n_buckets, n_heads); another shape raises ShapeError. Buckets are those of `relative_buckets`.
    """

    def __init__(
        self,
        weights: Mapping[str, Any],
        *,
        n_heads: int,
        n_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ) -> None:
        self.n_buckets, n_heads = as_int("n_buckets", n_buckets, minimum=1), as_int("n_heads", n_heads, minimum=1)
        self.max_distance, self.bidirectional = as_int("max_distance", max_distance, minimum=1), bidirectional
        self.weight = take(weights, "weight", (self.n_buckets, n_heads))

    def __call__(self, n_queries: int, n_keys: int, *, offset: int = 0) -> DistanceBias:
        """Return the bias of T queries at offset … offset + T - 1 and S keys at 0 … S - 1: a table (H, T + S - 1).

        Negative numbers of queries or keys raise OptionError.
        """
        n_queries, n_keys = as_int("n_queries", n_queries, minimum=0), as_int("n_keys", n_keys, minimum=0)
        offset, before = as_int("offset", offset), max(n_keys - 1, 0)
        query_minus_key = np.arange(-before, n_queries) + offset
        buckets = relative_buckets(
            -query_minus_key,
            n_buckets=self.n_buckets,
            max_distance=self.max_distance,
            bidirectional=self.bidirectional,
        )
        return DistanceBias(np.ascontiguousarray(self.weight[buckets].T), before)


def _counted(positions: ArrayLike | int, start: int = 0) -> ArrayLike:
    # An int n, also of numpy, means start … start + n - 1. An array without axes is one position.
    if isinstance(positions, (int, np.integer, np.bool_)):
        return np.arange(start, start + as_int("a number of positions", positions, minimum=0))
    return positions
