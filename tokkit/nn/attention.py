"""Queries, keys and values in, attention out: masks, windows, grouped heads, packed sequences; never T × T at once."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core import attend as kernel
from tokkit._core import rows
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, current_threads, floats, output

BLOCK = kernel.BLOCK
"""Block masks are of blocks of this many positions, or a multiple."""
MOST_OFFSET = 1 << 50
"""Offsets and windows beyond any sequence, and far from overflow."""

Window = int | tuple[int | None, int | None] | None


class DistanceBias(NamedTuple):
    """What is added to a score for how far apart query and key are: one row a head, whatever the sequences' lengths.

    table (H, …): the score of query i and key j gets table[h, zero + i - j].
    """

    table: Floats
    zero: int


@overload
def scaled_dot_product_attention(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, attn_mask: ArrayLike | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *, window: Window = None,
    causal_offset: int = 0, return_weights: Literal[False] = False,
) -> Floats: ...  # fmt: skip
@overload
def scaled_dot_product_attention(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, attn_mask: ArrayLike | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *, window: Window = None,
    causal_offset: int = 0, return_weights: Literal[True],
) -> tuple[Floats, Floats]: ...  # fmt: skip
def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    attn_mask: ArrayLike | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    window: Window = None,
    causal_offset: int = 0,
    return_weights: bool = False,
) -> Floats | tuple[Floats, Floats]:
    """Return softmax(query keyᵀ · scale + mask) value, as torch's function of this name does.

    query (B, H, T, D), key (B, G, S, D), value (B, G, S, E) → (B, H, T, E), float32; B and H may be missing. G = H,
    or with `enable_gqa` a divisor of it: key head g serves H / G query heads in a row. float64 and float16 are
    converted. `attn_mask` broadcasts to (B, H, T, S): boolean, True = attend; or a number that is added. `is_causal`
    lets query i see keys up to i + causal_offset (torch's top-left alignment at 0; with a cache of n, n). `window`
    is (left, right): how far behind and ahead of itself a query sees, None for no limit; or a number n, short for
    (n - 1, n - 1). All masks hold together. `scale` is 1/√D where None. `dropout_p` drops weights at random, with
    fresh randomness at each call (training; `attention` takes a seed).

    A query that sees no key gives zeros (torch: NaN for boolean masks in its eager form). `return_weights` returns
    (outputs, weights (B, H, T, S)) and is the one way here that makes T × S numbers.

    Raises ShapeError where shapes do not fit, TypeError for masks neither boolean nor floating point.
    Source: Vaswani et al. 2017, 3.2.1; tiles with a running maximum as in Dao et al. 2022.

    >>> q = np.eye(2, dtype=np.float32)[None, None]
    >>> scaled_dot_product_attention(q, q, q, is_causal=True).round(4)[0, 0]
    array([[1.    , 0.    ],
           [0.3302, 0.6698]], dtype=float32)
    """
    q, k, v = (floats(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value")))
    if not 2 <= q.ndim == k.ndim == v.ndim <= 4:
        raise ShapeError(
            f"query, key and value have shapes {q.shape}, {k.shape} and {v.shape}; each must be (B, H, T, D), or all "
            "alike with B, or B and H, missing"
        )
    mask = None
    if attn_mask is not None:
        mask = _broadcast(np.asarray(attn_mask), (*q.shape[:-1], k.shape[-2]), "attn_mask")
        mask = mask[(None,) * (4 - mask.ndim)]
    lead = (None,) * (4 - q.ndim)
    if k.shape[:-2] != q.shape[:-2] and not enable_gqa:
        raise ShapeError(
            f"query has shape {q.shape} and key {k.shape}; batch and heads must be equal (fewer key heads: "
            "enable_gqa=True)"
        )
    made = attention(
        q[lead], k[lead], v[lead], mask=mask, is_causal=is_causal, scale=scale, window=window,
        causal_offset=causal_offset, dropout_p=dropout_p, return_weights=return_weights,
    )  # fmt: skip
    drop = (0,) * len(lead)
    return (made[0][drop], made[1][drop]) if isinstance(made, tuple) else made[drop]


def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    key_padding_mask: ArrayLike | None = None,
    bias: DistanceBias | None = None,
    block_mask: ArrayLike | None = None,
    block_size: int = BLOCK,
    cu_seqlens: ArrayLike | None = None,
    cu_seqlens_k: ArrayLike | None = None,
    is_causal: bool = False,
    window: Window = None,
    causal_offset: int = 0,
    scale: float | None = None,
    dropout_p: float = 0.0,
    seed: int | None = None,
    return_weights: bool = False,
    out: Floats | None = None,
) -> Any:
    """Return attention as `scaled_dot_product_attention`, whose arguments these are, with all that a model needs.

    query (B, H, T, D), key (B, G, S, D), value (B, G, S, E), G a divisor of H → (B, H, T, E), written to `out` where
    given. `key_padding_mask` (B, S): True = ignore. `bias`: by distance, for ALiBi and relative positions.
    `block_mask` broadcasts to (B, H, T / block_size, S / block_size), rounded up: True = attend; blocks that are False
    cost nothing. `cu_seqlens` (n + 1): sequences packed one behind another along T, with B = 1, sequence i being rows
    cu_seqlens[i] … cu_seqlens[i + 1] (`cu_seqlens_k` of keys where they differ); no padding is computed, and masks
    beside causality, windows and `bias` are refused.
    """
    q, k, v = (floats(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value")))
    _check(q, k, v)
    batch, heads, n_queries, _ = q.shape
    full = (batch, heads, n_queries, k.shape[2])
    band = _band(window, is_causal, causal_offset)
    masks: dict[str, Any] = {}
    if mask is not None:
        made = _broadcast(np.asarray(mask), full, "mask")
        masks["allow" if made.dtype == np.bool_ else "add"] = made.view(np.uint8) if made.dtype == np.bool_ else made
    if key_padding_mask is not None:
        masks["ignored"] = _padding(key_padding_mask, (batch, k.shape[2]))
    if block_mask is not None:
        masks["blocks"], masks["block"] = _blocks(block_mask, block_size, full), block_size
    if bias is not None:
        _check_bias(bias, full, cu_seqlens is not None)
        masks["by_distance"], masks["zero"] = np.ascontiguousarray(floats(bias.table, "bias.table")), bias.zero
    if cu_seqlens is not None:
        masks.update(_packed(cu_seqlens, cu_seqlens_k, q, k, masks))
    elif cu_seqlens_k is not None:
        raise ShapeError("cu_seqlens_k is given without cu_seqlens; packed keys want packed queries")
    scale = 1 / math.sqrt(q.shape[3]) if scale is None and q.shape[3] else scale or 0.0
    result = output(out, (*q.shape[:3], v.shape[3]))
    if dropout_p or return_weights:
        if cu_seqlens is not None:
            raise OptionError("weights and dropout are for batches of equal length, not for cu_seqlens")
        weights = _weights(q, k, scale, band, masks)
    if dropout_p:
        if not 0 < dropout_p <= 1:
            raise OptionError(f"dropout_p is a probability from 0 to 1, not {dropout_p!r}")
        kept = np.random.default_rng(seed).random(weights.shape) >= dropout_p
        weights = np.where(kept, weights / np.float32(1 - dropout_p if dropout_p < 1 else 1), np.float32(0))
        np.matmul(weights, np.repeat(v, heads // k.shape[1], axis=1), out=result)
    else:
        kernel.attend(q, k, v, result, scale, band, threads=current_threads(), **masks)
    return (result, weights) if return_weights else result


def _check(q: Floats, k: Floats, v: Floats) -> None:
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ShapeError(
            f"query, key and value have shapes {q.shape}, {k.shape} and {v.shape}; each must be (B, H, T, D)"
        )
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ShapeError(f"query has shape {q.shape} and key {k.shape}; batch and head size must be equal")
    if k.shape[:3] != v.shape[:3]:
        raise ShapeError(f"key has shape {k.shape} and value {v.shape}; batch, heads and length must be equal")
    if not k.shape[1] or q.shape[1] % k.shape[1]:
        raise ShapeError(
            f"query has {q.shape[1]} heads and key {k.shape[1]} (shapes {q.shape} and {k.shape}); query heads must "
            "be a multiple of key heads"
        )


def _broadcast(mask: NDArray[Any], full: tuple[int, ...], name: str) -> NDArray[Any]:
    if mask.dtype.kind not in "bf":
        raise TypeError(f"{name} is an array of {mask.dtype}; give booleans (True = attend) or floats (added)")
    if mask.dtype.kind == "f":
        # A float64 mask may hold what float32 has no room for: it becomes the largest number, not an infinity.
        if mask.dtype != np.float32:
            most = np.finfo(np.float32).max
            mask = np.where(np.isinf(mask), mask, np.clip(mask, -most, most)).astype(np.float32)
        mask = floats(mask, name)
    try:
        made = np.broadcast_to(mask, full)
    except ValueError:
        raise ShapeError(f"{name} has shape {mask.shape}; it must broadcast to {full}") from None
    # Rows are read as they stand; a mask of one column is what has none to be read.
    return made if full[-1] < 2 or made.strides[-1] == made.itemsize else np.ascontiguousarray(made)


def _padding(mask: ArrayLike, shape: tuple[int, int]) -> NDArray[np.uint8]:
    made = np.asarray(mask)
    if made.dtype != np.bool_:
        raise TypeError(f"key_padding_mask is an array of {made.dtype}; give booleans, True where a key is ignored")
    if made.shape != shape:
        raise ShapeError(f"key_padding_mask has shape {made.shape}; it must be (batch, keys), here {shape}")
    return np.ascontiguousarray(made).view(np.uint8)


def _blocks(mask: ArrayLike, size: int, full: tuple[int, ...]) -> NDArray[np.uint8]:
    made = np.asarray(mask)
    if made.dtype != np.bool_:
        raise TypeError(f"block_mask is an array of {made.dtype}; give booleans, True where a block is attended to")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1 or size % BLOCK:
        raise OptionError(f"block_size is a multiple of {BLOCK}, not {size!r}; finer masks are boolean ones")
    wanted = (*full[:2], -(-full[2] // size), -(-full[3] // size))
    try:
        return np.ascontiguousarray(np.broadcast_to(made, wanted)).view(np.uint8)
    except ValueError:
        raise ShapeError(f"block_mask has shape {made.shape}; it must broadcast to {wanted}") from None


def _check_bias(bias: DistanceBias, full: tuple[int, ...], packed: bool) -> None:
    table, (_, heads, n_queries, n_keys) = np.asarray(bias.table), full
    if table.ndim != 2 or table.shape[0] != heads:
        raise ShapeError(f"bias.table has shape {table.shape}; it must be (heads, distances), with {heads} heads")
    if not packed and (bias.zero < n_keys - 1 or table.shape[1] < bias.zero + n_queries):
        raise ShapeError(
            f"bias.table has {table.shape[1]} distances, 0 at {bias.zero}; {n_queries} queries and {n_keys} keys need "
            f"{n_keys - 1} before it and {n_queries} from it on"
        )


def _packed(queries: ArrayLike, keys: ArrayLike | None, q: Floats, k: Floats, masks: dict[str, Any]) -> dict[str, Any]:
    if masks.keys() - {"by_distance", "zero"}:
        raise OptionError("packed sequences take no masks beside causality, a window and a bias by distance")
    if q.shape[0] != 1:
        raise ShapeError(f"query has shape {q.shape}; packed sequences stand in a batch of 1")
    made = {}
    for name, given, rows_there in (("q_starts", queries, q.shape[2]), ("k_starts", keys, k.shape[2])):
        starts = np.asarray(queries if given is None else given)
        if starts.dtype.kind not in "iu" or starts.ndim != 1:
            raise TypeError("cu_seqlens is a one-dimensional array of whole numbers")
        if (
            not len(starts)
            or starts[0] != 0
            or starts[-1] != rows_there
            or (np.diff(starts.astype(np.int64)) < 0).any()
        ):
            raise ShapeError(
                f"cu_seqlens is {starts.tolist()[:20]}; it must rise from 0 to the {rows_there} rows there are"
            )
        made[name] = np.ascontiguousarray(starts, dtype=np.int64)
    if len(made["q_starts"]) != len(made["k_starts"]):
        raise ShapeError("cu_seqlens and cu_seqlens_k differ in length; both give the same sequences")
    return made


def _band(window: Window, is_causal: bool, offset: int) -> tuple[int, int, int]:
    if isinstance(offset, bool) or not isinstance(offset, (int, np.integer)) or abs(offset) > MOST_OFFSET:
        raise OptionError(f"causal_offset is a whole number within ±2^50, not {offset!r}")
    sides: list[int] = []
    given = (window, window) if window is None or isinstance(window, (int, np.integer)) else tuple(window)
    for side in given:
        if side is not None and (isinstance(side, bool) or not isinstance(side, (int, np.integer)) or side < 0):
            raise OptionError(f"window is a number, or a pair of numbers or None, none negative, not {window!r}")
        sides.append(kernel.FAR if side is None else min(int(side), MOST_OFFSET))
    if len(sides) != 2:
        raise OptionError(f"window has two sides, left and right, not {window!r}")
    if isinstance(window, (int, np.integer)):
        if window < 1:
            raise OptionError("a window of 0 sees nothing, not even itself; give at least 1")
        sides = [sides[0] - 1, sides[1] - 1]
    return int(offset), sides[0], min(sides[1], 0) if is_causal else sides[1]


def _weights(q: Floats, k: Floats, scale: float, band: tuple[int, int, int], masks: dict[str, Any]) -> Floats:
    # All weights (B, H, T, S), for those who ask: the one place that makes them.
    offset, left, right = band
    scores = np.matmul(q, np.repeat(k, q.shape[1] // k.shape[1], axis=1).swapaxes(2, 3)) * np.float32(scale)
    distance = np.arange(q.shape[2])[:, None] - np.arange(k.shape[2])
    sees = np.broadcast_to((distance + offset <= left) & (distance + offset >= -right), scores.shape)
    if "by_distance" in masks:
        scores += masks["by_distance"][:, distance + masks["zero"]]
    if "add" in masks:
        scores += masks["add"]
        sees = sees & (masks["add"] != -np.inf)
    if "allow" in masks:
        sees = sees & masks["allow"].view(np.bool_)
    if "ignored" in masks:
        sees = sees & ~masks["ignored"].view(np.bool_)[:, None, None]
    if "blocks" in masks:
        wide = masks["blocks"].view(np.bool_).repeat(masks["block"], 2).repeat(masks["block"], 3)
        sees = sees & wide[:, :, : q.shape[2], : k.shape[2]]
    scores = np.where(sees, scores, np.float32(-np.inf))
    if scores.size:
        flat = scores.reshape(-1, scores.shape[3])
        rows.softmax(flat, flat, threads=current_threads())
        scores[~sees.any(-1)] = 0
    return scores
