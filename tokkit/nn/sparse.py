"""Sparse attention: patterns of which queries see which keys, as lists of blocks; only listed blocks are computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.nn import attention as kernels
from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, check_overlap, current_threads, floats, output
from tokkit.nn.attention import BLOCK, check_heads, padding_of

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
AT_ONCE = 512
"""The number of blocks whose pairs are examined at once: 2 MB of booleans."""


class Pattern(Protocol):
    """A rule of which queries see which keys, evaluated for blocks of BLOCK queries by BLOCK keys."""

    def blocks(self, rows: int, columns: int, is_causal: bool) -> Bools:
        """Return (rows, columns): True for blocks in which a query may see a key; False if no query sees a key."""
        ...

    def sees(self, query: Ints, key: Ints) -> Bools:
        """Return whether queries see keys, given their positions in such blocks; the arrays broadcast."""
        ...


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """A query sees itself and `window` - 1 keys on each side, at distances that are multiples of `dilation`.

    Time T·window. Source: Beltagy et al. 2020 (Longformer), 3.1: sliding windows, and dilated ones.
    """

    window: int
    dilation: int = 1

    def __post_init__(self) -> None:
        as_int("window", self.window, minimum=1)
        as_int("dilation", self.dilation, minimum=1)

    def blocks(self, rows: int, columns: int, is_causal: bool) -> Bools:
        """Return the blocks of the band."""
        reach = (self.window - 1) * self.dilation
        made: Bools = np.abs(_between(rows, columns)) * BLOCK - (BLOCK - 1) <= reach
        return made

    def sees(self, query: Ints, key: Ints) -> Bools:
        """Return whether the distance is a multiple of the dilation within the window."""
        distance = np.abs(query - key)
        made: Bools = (distance <= (self.window - 1) * self.dilation) & (distance % self.dilation == 0)
        return made


@dataclass(frozen=True, slots=True)
class GlobalTokens:
    """Tokens at these positions see all tokens and are seen by all: a classification token, or those of a question.

    Time 2·T·n for n tokens. Source: Longformer, 3.1; Zaheer et al. 2020 (BigBird), section 2.
    """

    positions: tuple[int, ...]

    def __post_init__(self) -> None:
        made = tuple(as_int("each of positions", position, minimum=0) for position in self.positions)
        object.__setattr__(self, "positions", made)

    def blocks(self, rows: int, columns: int, is_causal: bool) -> Bools:
        """Return the rows and columns of the blocks that contain these tokens."""
        own = np.zeros(max(rows, columns), dtype=bool)
        own[[p // BLOCK for p in self.positions if p // BLOCK < len(own)]] = True
        return own[:rows, None] | own[None, :columns]

    def sees(self, query: Ints, key: Ints) -> Bools:
        """Return whether the query or the key is one of these tokens."""
        return np.isin(query, self.positions) | np.isin(key, self.positions)


@dataclass(frozen=True, slots=True)
class RandomBlocks:
    """Each block of queries sees `n` random blocks of keys (if causal, only up to itself); `seed` fixes the choice.

    Time T·n·BLOCK. Source: BigBird, section 2 and appendix D, with blocks of BLOCK tokens. BigBird's
    pattern is RandomBlocks, a SlidingWindow and GlobalTokens.
    """

    n: int
    seed: int

    def __post_init__(self) -> None:
        as_int("n", self.n, minimum=1)

    def blocks(self, rows: int, columns: int, is_causal: bool) -> Bools:
        """Return the blocks that were drawn."""
        rng, made = np.random.default_rng(self.seed), np.zeros((rows, columns), dtype=bool)
        for row in range(rows):
            most = min(row + 1, columns) if is_causal else columns
            made[row, rng.choice(most, min(self.n, most), replace=False)] = True
        return made

    def sees(self, query: Ints, key: Ints) -> Bools:
        """Return True: all pairs of a block are seen."""
        return np.ones(np.broadcast_shapes(query.shape, key.shape), dtype=bool)


@dataclass(frozen=True, slots=True)
class Strided:
    """A query sees the `stride` keys up to itself, and all keys at a distance that is a multiple of `stride`.

    With a stride near √T any two tokens are connected in two steps, and a query sees 2·√T keys. Keys that are `stride`
    apart are in different blocks, so the time is nearly that of dense attention for strides below BLOCK, and
    T²·BLOCK/stride above. Source: Child et al. 2019 (Sparse Transformers), 4.2, the patterns of both heads in one.
    """

    stride: int

    def __post_init__(self) -> None:
        as_int("stride", self.stride, minimum=1)

    def blocks(self, rows: int, columns: int, is_causal: bool) -> Bools:
        """Return the blocks that contain a distance below the stride, or a multiple of it."""
        most = _between(rows, columns) * BLOCK + BLOCK - 1
        least = most - 2 * (BLOCK - 1)
        made: Bools = (most // self.stride * self.stride >= least) | ((most >= 0) & (least < self.stride))
        return made

    def sees(self, query: Ints, key: Ints) -> Bools:
        """Return whether the distance of a key is below the stride, or a multiple of it."""
        distance = query - key
        made: Bools = ((distance >= 0) & (distance < self.stride)) | (distance % self.stride == 0)
        return made


class BlockMask:
    """Which of n_queries see which of n_keys, as lists of blocks of BLOCK by BLOCK; immutable, created once per length.

    A query sees a key if one of the `patterns` allows it and, with `is_causal`, the key is not after the query. Blocks
    without a visible pair are not in the lists. Blocks that are only partly visible have a mask; blocks with equal
    masks share one. Memory is about 16 bytes per block and 4 KiB per mask. `density` is the fraction of all pairs that
    is computed.

    >>> mask = BlockMask(1024, [SlidingWindow(128), GlobalTokens((0,))], is_causal=True)
    >>> mask.shape, mask.n_blocks, mask.n_masks
    ((1, 1024, 1024), 58, 4)
    """

    def __init__(
        self, n_queries: int, patterns: Sequence[Pattern], *, n_keys: int | None = None, is_causal: bool = False
    ) -> None:
        length = as_int("n_queries", n_queries, minimum=0)
        others = length if n_keys is None else as_int("n_keys", n_keys, minimum=0)
        if not patterns:
            raise OptionError("no pattern is given; a BlockMask needs at least one, such as SlidingWindow(512)")
        rows, columns = -(-length // BLOCK), -(-others // BLOCK)
        chosen = [pattern.blocks(rows, columns, is_causal) for pattern in patterns]
        candidates = np.logical_or.reduce(chosen)
        if is_causal:
            candidates &= _between(rows, columns) >= 0
        row, column = np.nonzero(candidates)
        kept = _Masks(length, others)
        found = np.empty(len(row), dtype=np.int32)
        for first in range(0, len(row), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            r, c = row[part], column[part]
            # The axis of keys is before that of queries: kernels read masks in this order.
            query = (r[:, None] * BLOCK + np.arange(BLOCK))[:, None, :]
            key = (c[:, None] * BLOCK + np.arange(BLOCK))[:, :, None]
            seen = np.zeros((len(r), BLOCK, BLOCK), dtype=bool)
            for pattern, of in zip(patterns, chosen, strict=True):
                inside = np.flatnonzero(of[r, c])
                seen[inside] |= pattern.sees(query[inside], key[inside])
            if is_causal:
                seen &= key <= query
            found[part] = kept.numbers(seen, query, key)
        self._set(length, others, [(row, column, found)], kept.masks)

    @classmethod
    def of(cls, mask: ArrayLike) -> BlockMask:
        """Return the BlockMask of a boolean mask (T, S) or (H, T, S), True = attend."""
        made = np.asarray(mask)
        if made.dtype != np.bool_ or made.ndim not in (2, 3):
            raise ShapeError(
                f"mask has dtype {made.dtype} and shape {made.shape}; it must be bool, (T, S) or (H, T, S)"
            )
        self = cls.__new__(cls)
        _, length, others = (made[None] if made.ndim == 2 else made).shape
        rows, columns = -(-length // BLOCK), -(-others // BLOCK)
        kept, entries = _Masks(length, others), []
        for head in made[None] if made.ndim == 2 else made:
            wide = np.zeros((rows * BLOCK, columns * BLOCK), dtype=bool)
            wide[:length, :others] = head
            blocks = wide.reshape(rows, BLOCK, columns, BLOCK).transpose(0, 2, 3, 1)
            row, column = np.nonzero(blocks.any((2, 3)))
            query = (row[:, None] * BLOCK + np.arange(BLOCK))[:, None, :]
            key = (column[:, None] * BLOCK + np.arange(BLOCK))[:, :, None]
            entries.append((row, column, kept.numbers(blocks[row, column], query, key)))
        self._set(length, others, entries, kept.masks)
        return self

    @classmethod
    def of_heads(cls, masks: Iterable[BlockMask]) -> BlockMask:
        """Return a mask of several heads from one mask per head, for example with different dilations."""
        parts = list(masks)
        if not parts or len({part.shape[1:] for part in parts}) > 1:
            raise ShapeError(
                f"masks have shapes {[part.shape for part in parts]}; give one for each head, of equal lengths"
            )
        self = cls.__new__(cls)
        kept, entries = _Masks(*parts[0].shape[1:]), []
        for part in parts:
            again = np.array([*(kept.number(mask) for mask in part._table), -1], dtype=np.int32)
            entries += [(row, column, again[found]) for row, column, found in part._entries]
        self._set(*parts[0].shape[1:], entries, kept.masks)
        return self

    def __getstate__(self) -> tuple[Any, ...]:
        return (*self.shape[1:], self._entries, self._table)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(*state)

    def _set(
        self, n_queries: int, n_keys: int, entries: Sequence[tuple[Any, Any, Any]], masks: Sequence[NDArray[np.uint8]]
    ) -> None:
        rows = -(-n_queries // BLOCK)
        # Candidate blocks without a visible pair have the number EMPTY.
        self._entries = [tuple(part[found != EMPTY] for part in (row, column, found)) for row, column, found in entries]
        self._table = np.array(masks, dtype=np.uint8).reshape(-1, BLOCK, BLOCK)
        sizes = np.array([np.bincount(row, minlength=rows) for row, _, _ in self._entries], dtype=np.int64)
        ends = sizes.ravel().cumsum().reshape(sizes.shape)
        starts = np.concatenate([np.append(0, ends[:-1, -1])[:, None] if rows else np.zeros((len(sizes), 1)), ends], 1)
        blocks, numbers = (np.concatenate([of[i] for of in self._entries]).astype(np.int32) for i in (1, 2))
        self._lists = kernels.BlockLists(
            np.ascontiguousarray(starts, dtype=np.int64), blocks, numbers, self._table, -(-n_keys // BLOCK)
        )
        self.shape = (len(entries), n_queries, n_keys)
        """(heads, queries, keys); 1 head if all heads have the same mask."""
        self.n_blocks = len(blocks)
        """The number of blocks in all lists."""
        self.n_masks = len(self._table)
        """The number of different masks of partly visible blocks."""

    @property
    def density(self) -> float:
        """The fraction of all pairs of blocks that is computed."""
        heads, length, others = self.shape
        return self.n_blocks / max(1, heads * -(-length // BLOCK) * -(-others // BLOCK))

    def dense(self) -> Bools:
        """Return the boolean mask (heads, T, S), for inspection and for attention without blocks."""
        heads, length, others = self.shape
        made = np.zeros((heads, -(-length // BLOCK), BLOCK, -(-others // BLOCK), BLOCK), dtype=bool)
        whole = np.concatenate([self._table, np.ones((1, BLOCK, BLOCK), dtype=np.uint8)]).astype(bool)
        for head, (row, column, found) in enumerate(self._entries):
            made[head, row, :, column] = whole[found].transpose(0, 2, 1)
        return made.reshape(heads, made.shape[1] * BLOCK, -1)[:, :length, :others]


EMPTY = -2


class _Masks:
    """The different masks of partly visible blocks, numbered."""

    def __init__(self, n_queries: int, n_keys: int) -> None:
        self.masks: list[NDArray[np.uint8]] = []
        self._limits, self._known = (n_queries, n_keys), dict[bytes, int]()

    def numbers(self, seen: Bools, query: Ints, key: Ints) -> NDArray[np.int32]:
        """Return a number for each block (n): EMPTY, -1 if all pairs are visible, or its index in `masks`."""
        real = (query < self._limits[0]) & (key < self._limits[1])
        # Pairs beyond the ends are never read, so they may count as visible or not.
        whole, empty = (seen | ~real).all((1, 2)), ~(seen & real).any((1, 2))
        made = np.where(empty, EMPTY, -1).astype(np.int32)
        for i in np.flatnonzero(~whole & ~empty):
            made[i] = self.number(seen[i].view(np.uint8))
        return made

    def number(self, mask: NDArray[np.uint8]) -> int:
        """Return the number of a mask (key, query); a new mask gets a new number."""
        name = np.packbits(mask).tobytes()
        if name not in self._known:
            self._known[name] = len(self.masks)
            self.masks.append(mask)
        return self._known[name]


def _between(rows: int, columns: int) -> Ints:
    return np.arange(rows)[:, None] - np.arange(columns)


def sparse_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: BlockMask,
    *,
    key_padding_mask: ArrayLike | None = None,
    scale: float | None = None,
    out: Floats | None = None,
) -> Floats:
    """Return softmax(query keyᵀ · scale) value over the pairs of `mask`, like dense attention with this mask.

    query (B, H, T, D), key (B, G, S, D), value (B, G, S, E), G a divisor of H → (B, H, T, E); `mask` has T queries and
    S keys, for one head or H. `key_padding_mask` (B, S): True = ignore. `scale` is 1/√D if None. `out` may be `query`.
    A query that sees nothing gives zeros; what it does not see has no effect, even if it holds NaN.

    Time is that of the blocks in the lists, n_blocks·BLOCK²·(D + E) per head; no memory that grows with them.
    Raises ShapeError for shapes that do not fit, TypeError for arrays of other types.
    Source: Child et al. 2019, Beltagy et al. 2020, Zaheer et al. 2020, over tiles as in Dao et al. 2022, 3.3.

    >>> q = np.ones((1, 1, 300, 8), np.float32)
    >>> sparse_attention(q, q, q, BlockMask(300, [SlidingWindow(16)], is_causal=True)).shape
    (1, 1, 300, 8)
    """
    q, k, v = (floats(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value")))
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ShapeError(
            f"query, key and value have shapes {q.shape}, {k.shape} and {v.shape}; each must be (B, H, T, D)"
        )
    check_heads(q, k, v)
    if not isinstance(mask, BlockMask):
        raise TypeError(f"mask is {type(mask).__name__}; it must be a BlockMask, for arrays BlockMask.of(array)")
    if mask.shape[1:] != (q.shape[2], k.shape[2]) or mask.shape[0] not in (1, q.shape[1]):
        raise ShapeError(
            f"the mask has (heads, queries, keys) {mask.shape}; query has shape {q.shape} and key {k.shape}"
        )
    ignored = None if key_padding_mask is None else padding_of(key_padding_mask, (k.shape[0], k.shape[2]))
    scale = q.shape[3] ** -0.5 if scale is None and q.shape[3] else as_float("scale", scale or 0.0)
    result = output(out, (*q.shape[:3], v.shape[3]))
    if out is not None:
        check_overlap(result, in_place={"query": q}, apart={"key": k, "value": v, "key_padding_mask": ignored})
    band = (0, kernels.FAR, kernels.FAR)
    kernels.attend(q, k, v, result, scale, band, ignored=ignored, lists=mask._lists, threads=current_threads())
    return result
