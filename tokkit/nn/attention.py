"""Attention with masks, windows, grouped heads and packed sequences; the T × T scores are never stored at once."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.nn import attention as attention_core
from tokkit._core.nn import rows as rows_core
from tokkit.checks import as_float
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, check_overlap, current_threads, floats, output, starts_of

BLOCK = attention_core.BLOCK
"""The block size of block masks is this, or a multiple of it."""
MAX_OFFSET = 1 << 50
"""An offset or window larger than any sequence, and far from overflow."""
_GIVEN_AS = {
    "allow": "mask", "add": "mask", "ignored": "key_padding_mask", "blocks": "block_mask", "by_distance": "bias.table",
    "q_starts": "cu_seqlens", "k_starts": "cu_seqlens_k",
}  # fmt: skip
"""The names of the kernel's arrays in messages."""

Window = int | tuple[int | None, int | None] | None


class DistanceBias(NamedTuple):
    """A bias added to scores by the distance of query and key: one row per head, for all lengths.

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
    or with `enable_gqa` a divisor of it: key head g serves H / G consecutive query heads. float64 and float16 are
    converted. `attn_mask` broadcasts to (B, H, T, S): boolean, True = attend; or a number that is added. `is_causal`
    lets query i see keys up to i + causal_offset (torch's top-left alignment at 0; with a cache of n, n). `window` is
    (left, right): the number of keys visible before and after a query, None for no limit; or a number n, short for (n -
    1, n - 1). All masks are combined. `scale` is 1/√D if None. `dropout_p` drops weights at random, differently in each
    call (training; `attention` has a seed).

    A masked key, or one whose weight is dropped, has no effect, even if it contains NaN or infinity. A query without
    any visible key gives zeros (torch: NaN for boolean masks in eager mode). `return_weights` returns (outputs, weights
    (B, H, T, S)); only then T × S numbers are stored.

    Raises ShapeError if shapes do not fit, TypeError for masks neither boolean nor floating point.
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
            "of them without B, or without B and H"
        )
    if k.shape[:-2] != q.shape[:-2] and not enable_gqa:
        raise ShapeError(
            f"query has shape {q.shape} and key {k.shape}; batch and heads must be equal (fewer key heads: "
            "enable_gqa=True)"
        )
    check_heads(q, k, v)
    mask = None
    if attn_mask is not None:
        mask = _broadcast(np.asarray(attn_mask), (*q.shape[:-1], k.shape[-2]), "attn_mask")
        mask = mask[(None,) * (4 - mask.ndim)]
    lead = (None,) * (4 - q.ndim)
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
    cap: float = 0.0,
    dropout_p: float = 0.0,
    seed: int | None = None,
    return_weights: bool = False,
    out: Floats | None = None,
) -> Any:
    """Return attention as `scaled_dot_product_attention` does, with further options for models.

    query (B, H, T, D), key (B, G, S, D), value (B, G, S, E), G a divisor of H → (B, H, T, E), written to `out` if
    given: it may be `query` itself, but must not overlap any array otherwise. `key_padding_mask` (B, S): True = ignore.
    `bias`: by distance, for ALiBi and relative positions. `block_mask` broadcasts to (B, H, T / block_size, S /
    block_size), rounded up: True = attend; False blocks are not computed. `cu_seqlens` (n + 1): sequences packed one
    after another along T, with B = 1, sequence i being rows cu_seqlens[i] … cu_seqlens[i + 1] (`cu_seqlens_k` for keys
    if they differ); no padding is computed, and the only masks are causality, windows and `bias`. `cap`: unless it is
    0, scores become cap · tanh(score / cap) before masks and biases are added (Gemma 2).

    Raises ShapeError and OptionError for inconsistent arguments, TypeError for arrays of other types.
    """
    q, k, v = (floats(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value")))
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ShapeError(
            f"query, key and value have shapes {q.shape}, {k.shape} and {v.shape}; each must be (B, H, T, D)"
        )
    check_heads(q, k, v)
    batch, heads, n_queries, _ = q.shape
    full = (batch, heads, n_queries, k.shape[2])
    band = band_of(window, is_causal, causal_offset)
    masks: dict[str, Any] = {}
    if mask is not None:
        made = _broadcast(np.asarray(mask), full, "mask")
        masks["allow" if made.dtype == np.bool_ else "add"] = made.view(np.uint8) if made.dtype == np.bool_ else made
    if key_padding_mask is not None:
        masks["ignored"] = padding_of(key_padding_mask, (batch, k.shape[2]))
    if block_mask is not None:
        masks["blocks"], masks["block"] = _blocks(block_mask, block_size, full), block_size
    longest = [n_queries, k.shape[2]]
    if cu_seqlens is not None:
        if masks:
            raise OptionError(
                "a mask is given with cu_seqlens; packed sequences can only have is_causal, window and a bias by "
                "distance"
            )
        masks = _packed(cu_seqlens, cu_seqlens_k, q, k)
        longest = [int(np.diff(starts).max(initial=0)) for starts in masks.values()]
    elif cu_seqlens_k is not None:
        raise ShapeError("cu_seqlens_k is given without cu_seqlens; packed keys need packed queries")
    if bias is not None:
        masks["by_distance"], masks["zero"] = _table(bias, heads, *longest), bias.zero
    scale = 1 / math.sqrt(q.shape[3]) if scale is None and q.shape[3] else scale or 0.0
    cap = as_float("cap", cap, minimum=0)
    result = output(out, (*q.shape[:3], v.shape[3]))
    if out is not None:
        read = {_GIVEN_AS[name]: array for name, array in masks.items() if name in _GIVEN_AS}
        check_overlap(result, in_place={"query": q}, apart={"key": k, "value": v, **read})
    if dropout_p or return_weights:
        if cu_seqlens is not None:
            raise OptionError("return_weights and dropout need batches of equal length, not cu_seqlens")
        weights = _weights(q, k, scale, cap, band, masks)
    if dropout_p:
        if not 0 < dropout_p <= 1:
            raise OptionError(f"dropout_p is {dropout_p!r}; it must be a probability from 0 to 1")
        kept = np.random.default_rng(seed).random(weights.shape) >= dropout_p
        weights = np.where(kept, weights / np.float32(1 - dropout_p if dropout_p < 1 else 1), np.float32(0))
        _mix(weights, v, result)
    else:
        attention_core.attend(q, k, v, result, scale, band, cap=cap, threads=current_threads(), **masks)
    return (result, weights) if return_weights else result


def check_heads(query: Floats, key: Floats, value: Floats) -> None:
    """Raise ShapeError for inconsistent queries, keys and values of two to four axes."""
    # In their original shapes, so that messages show no added axes.
    q, k, v = query.shape, key.shape, value.shape
    if q[:-3] != k[:-3] or q[-1] != k[-1]:
        raise ShapeError(f"query has shape {q} and key {k}; batch and head size must be equal")
    if k[:-1] != v[:-1]:
        raise ShapeError(f"key has shape {k} and value {v}; batch, heads and length must be equal")
    if len(q) > 2 and (not k[-3] or q[-3] % k[-3]):
        raise ShapeError(
            f"query has {q[-3]} heads and key {k[-3]} (shapes {q} and {k}); query heads must be a multiple of key heads"
        )


def _broadcast(mask: NDArray[Any], full: tuple[int, ...], name: str) -> NDArray[Any]:
    if mask.dtype.kind not in "bf":
        raise TypeError(f"{name} is an array of {mask.dtype}; give booleans (True = attend) or floats (added)")
    try:
        made = np.broadcast_to(mask, full)
    except ValueError:
        raise ShapeError(f"{name} has shape {mask.shape}; it must broadcast to {full}") from None
    rows_stand = full[-1] < 2 or made.strides[-1] == made.itemsize
    if rows_stand and (made.dtype == np.bool_ or (made.dtype == np.float32 and not any(s % 4 for s in made.strides))):
        return made
    # Broadcast axes are converted only once.
    made = made[tuple(slice(0, 1) if step == 0 else slice(None) for step in made.strides)]
    if made.dtype.kind == "f" and made.dtype != np.float32:
        # Values of a float64 mask out of range of float32 become the largest number, not infinity.
        limit = np.finfo(np.float32).max
        made = np.where(np.isinf(made), made, np.clip(made, -limit, limit)).astype(np.float32)
    # Rows are read without broadcasting, so a single column is expanded.
    made = np.ascontiguousarray(np.broadcast_to(made, (*made.shape[:-1], full[-1])))
    return np.broadcast_to(made, full)


def padding_of(mask: ArrayLike, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Return a key_padding_mask (B, S) for the kernels: 1 = ignore."""
    made = np.asarray(mask)
    if made.dtype != np.bool_:
        raise TypeError(f"key_padding_mask is an array of {made.dtype}; give booleans, True if a key is ignored")
    if made.shape != shape:
        raise ShapeError(f"key_padding_mask has shape {made.shape}; it must be (batch, keys), here {shape}")
    return np.ascontiguousarray(made).view(np.uint8)


def _blocks(mask: ArrayLike, size: int, full: tuple[int, ...]) -> NDArray[np.uint8]:
    made = np.asarray(mask)
    if made.dtype != np.bool_:
        raise TypeError(f"block_mask is an array of {made.dtype}; give booleans, True if a block is attended to")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1 or size % BLOCK:
        raise OptionError(f"block_size is a multiple of {BLOCK}, not {size!r}; finer masks are boolean ones")
    wanted = (*full[:2], -(-full[2] // size), -(-full[3] // size))
    try:
        return np.ascontiguousarray(np.broadcast_to(made, wanted)).view(np.uint8)
    except ValueError:
        raise ShapeError(f"block_mask has shape {made.shape}; it must broadcast to {wanted}") from None


def _table(bias: DistanceBias, heads: int, n_queries: int, n_keys: int) -> Floats:
    if not isinstance(bias, DistanceBias):
        raise OptionError(
            f"bias is a DistanceBias, a number for each distance, not {type(bias).__name__}; an array of a number for "
            "each query and key is a mask"
        )
    table = np.ascontiguousarray(floats(bias.table, "bias.table"))
    if table.ndim != 2 or table.shape[0] != heads:
        raise ShapeError(f"bias.table has shape {table.shape}; it must be (heads, distances), with {heads} heads")
    if bias.zero < n_keys - 1 or table.shape[1] < bias.zero + n_queries:
        raise ShapeError(
            f"bias.table has {table.shape[1]} distances, 0 at {bias.zero}; {n_queries} queries and {n_keys} keys need "
            f"{n_keys - 1} before it and {n_queries} from it on"
        )
    return table


def _packed(queries: ArrayLike, keys: ArrayLike | None, q: Floats, k: Floats) -> dict[str, NDArray[np.int64]]:
    if q.shape[0] != 1:
        raise ShapeError(f"query has shape {q.shape}; packed sequences need a batch of 1")
    starts = starts_of(queries, q.shape[2], "cu_seqlens")
    if keys is None:
        if k.shape[2] != q.shape[2]:
            raise ShapeError(f"query has shape {q.shape} and key {k.shape}; keys of other lengths need cu_seqlens_k")
        return {"q_starts": starts, "k_starts": starts}
    of_keys = starts_of(keys, k.shape[2], "cu_seqlens_k")
    if len(starts) != len(of_keys):
        raise ShapeError(f"cu_seqlens has {len(starts)} numbers and cu_seqlens_k {len(of_keys)}; they must be equal")
    return {"q_starts": starts, "k_starts": of_keys}


def band_of(window: Window, is_causal: bool, offset: int) -> tuple[int, int, int]:
    """Return (offset, left, right): the numbers of keys visible before and after a query, shifted by `offset`."""
    if isinstance(offset, bool) or not isinstance(offset, (int, np.integer)) or abs(offset) > MAX_OFFSET:
        raise OptionError(f"causal_offset is {offset!r}; it must be a whole number within ±2^50")
    sides: list[int] = []
    given = (window, window) if window is None or isinstance(window, (int, np.integer)) else tuple(window)
    for side in given:
        if side is not None and (isinstance(side, bool) or not isinstance(side, (int, np.integer)) or side < 0):
            raise OptionError(f"window is {window!r}; it must be a number or a pair of numbers or None, at least 0")
        sides.append(attention_core.FAR if side is None else min(int(side), MAX_OFFSET))
    if len(sides) != 2:
        raise OptionError(f"window is {window!r}; a pair must have two sides, left and right")
    if isinstance(window, (int, np.integer)):
        if window < 1:
            raise OptionError("window is 0; it must be at least 1, because a token sees itself")
        sides = [sides[0] - 1, sides[1] - 1]
    return int(offset), sides[0], min(sides[1], 0) if is_causal else sides[1]


def _weights(
    q: Floats, k: Floats, scale: float, cap: float, band: tuple[int, int, int], masks: dict[str, Any]
) -> Floats:
    # The only place where all weights (B, H, T, S) are stored.
    offset, left, right = band
    # Masked keys may be NaN or infinite, so numpy's warnings are turned off.
    with np.errstate(invalid="ignore", over="ignore"):
        scores = np.matmul(q, np.repeat(k, q.shape[1] // k.shape[1], axis=1).swapaxes(2, 3)) * np.float32(scale)
        scores = np.tanh(scores / np.float32(cap)) * np.float32(cap) if cap else scores
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
        rows_core.softmax(flat, flat, threads=current_threads())
        scores[~sees.any(-1)] = 0
    return scores


def _mix(weights: Floats, v: Floats, out: Floats) -> None:
    # weights (B, H, T, S) times v (B, G, S, E); 0 times NaN is not 0, so values that are not finite are added
    # separately.
    group = weights.shape[1] // v.shape[1]
    finite = np.isfinite(v)
    np.matmul(weights, np.repeat(np.where(finite, v, np.float32(0)), group, axis=1), out=out)
    bad = np.where(finite, np.float32(0), v)
    with np.errstate(invalid="ignore"):
        for b, g, key in np.argwhere(~finite.all(-1)):
            heads = slice(g * group, (g + 1) * group)
            weight = weights[b, heads, :, key, None]
            out[b, heads] += np.where(weight != 0, weight * bad[b, g, key], np.float32(0))
