"""`DecoderCache`: keys and values of all layers for the tokens of one sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit._core.nn.kv import KeyValues, kv_rows
from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats
from tokkit.nn.cross_memory import Memory

FIRST_TOKENS = 256
"""The initial size of a cache without a capacity, in tokens; it doubles as needed."""
DTYPES: dict[str, Any] = {"float32": np.float32, "bfloat16": np.uint16, "int8": np.int8}
"""The dtypes of keys and values → the types of their arrays."""
SCALE = np.dtype(np.float32)


class CacheLayer(NamedTuple):
    """Keys and values (kv_heads, n, head_dim) of one layer; of int8 with the scale (kv_heads, n) of each row."""

    keys: NDArray[Any]
    values: NDArray[Any]
    key_scales: NDArray[np.float32] | None
    value_scales: NDArray[np.float32] | None


class DecoderCache:
    """Keys and values of the tokens of one sequence; `length` tokens have been read.

    `dtype` is "float32"; "bfloat16", half of the memory; or "int8", a quarter, with a scale for each token and head.
    `windows` are those of `DecoderConfig`: a layer with a window keeps only slightly more tokens than its window.
    `capacity` is the maximum number of tokens, allocated at once; with None the cache grows. A cache is the state of
    one sequence, used by one thread at a time. `nbytes` is its memory.

    >>> cache = DecoderCache(n_layers=2, kv_heads=1, head_dim=4, capacity=8)
    >>> cache.length, cache.nbytes
    (0, 512)
    """

    def __init__(
        self, *, n_layers: int, kv_heads: int, head_dim: int, capacity: int | None = None, dtype: str = "float32",
        windows: Sequence[int | None] | None = None,
    ) -> None:  # fmt: skip
        self.dtype = checked_dtype(dtype)
        self.windows = (None,) * n_layers if windows is None else tuple(windows)
        if len(self.windows) != n_layers:
            raise ShapeError(f"windows has {len(self.windows)} entries for {n_layers} layers")
        self.capacity = None if capacity is None else as_int("capacity", capacity, minimum=1)
        self.length = 0
        self.memory: Memory | None = None
        """The memory of an encoder–decoder's cross-attention; copies share it."""
        self.ids: NDArray[np.int64] | None = None
        """The tokens read so far, if the model may have to read them again (LongRoPE)."""
        self._shape = kv_heads, head_dim
        self._take_room(FIRST_TOKENS if self.capacity is None else self.capacity, [0] * n_layers)

    @property
    def nbytes(self) -> int:
        """The bytes of memory that are reserved."""
        return self._buffer.nbytes

    @property
    def first(self) -> list[int]:
        """The position of the oldest token kept in each layer; 0 in layers without a window."""
        return self.packed.first

    def reserve(self, n: int) -> None:
        """Make room for n more tokens; ShapeError if that is more than the capacity."""
        needed = self.length + n
        if needed <= self._room:
            return
        if self.capacity is not None and needed > self.capacity:
            raise ShapeError(
                f"the cache has room for {self.capacity} tokens and contains {self.length}; {n} more do not fit"
            )
        self._move(max(needed, min(2 * self._room, self.capacity or 2 * self._room)))

    def can_truncate(self, length: int) -> bool:
        """Whether all of the first `length` tokens that later ones see are kept."""
        return 0 <= length <= self.length and (not length or sees_all(self.windows, self.first, length))

    def truncate(self, length: int) -> None:
        """Keep the first `length` tokens; OptionError if there are fewer, or windows have dropped tokens they need."""
        if not 0 <= length <= self.length:
            raise OptionError(f"length is {length}; the cache has {self.length} tokens")
        if not self.can_truncate(length):
            raise OptionError(
                f"length is {length}; of {self.length} tokens, layers with windows keep only those from "
                f"{max(self.first)} on; read the text again from its beginning"
            )
        self.length = length
        self.ids = None if self.ids is None else self.ids[:length]
        if not length:
            self.packed.first = [0] * len(self.windows)

    def copy(self, *, room: int = 0, length: int | None = None) -> DecoderCache:
        """Return a copy with the same tokens, or only the first `length`, and room for `room` more."""
        kept = self.length if length is None else length
        if not self.can_truncate(kept):
            raise OptionError(f"length is {kept}; the cache has {self.length} tokens, from {max(self.first)} on")
        kv_heads, head_dim = self._shape
        room = room if self.capacity is None else min(room, self.capacity - kept)
        made = DecoderCache(
            n_layers=len(self.windows), kv_heads=kv_heads, head_dim=head_dim, capacity=max(kept + room, 1),
            dtype=self.dtype, windows=self.windows,
        )  # fmt: skip
        made.load(self.held(kept), self.first if kept else [0] * len(self.windows), kept)
        made.capacity, made.memory = self.capacity, self.memory
        made.ids = None if self.ids is None else self.ids[:kept]
        return made

    def follow(self, other: DecoderCache, start: int) -> None:
        """Copy the tokens of another cache of the same kind; the first `start` are already in this one."""
        if not 0 <= start <= min(self.length, other.length):
            raise OptionError(f"start is {start}; the caches have {self.length} and {other.length} tokens")
        self.length = start
        self.reserve(other.length - start)
        firsts = zip(self.first, other.first, strict=True)
        for own, layer, (was, first) in zip(self._layers, other.held(), firsts, strict=True):
            since = max(start - first, 0) if was == first else 0
            for to, given in zip(own, layer, strict=True):
                if to is not None and given is not None:
                    to[:, since : given.shape[1]] = given[:, since:]
        self.packed.first = other.first
        self.length, self.ids = other.length, other.ids

    def held(self, length: int | None = None) -> Iterator[CacheLayer]:
        """Yield views of the keys and values of each layer, from its `first` token up to `length` (default: all)."""
        end = self.length if length is None else length
        for layer, first in zip(self._layers, self.first, strict=True):
            n = max(end - first, 0)
            yield CacheLayer(*(None if array is None else array[:, :n] for array in layer))  # type: ignore[arg-type]

    def load(self, layers: Iterator[CacheLayer], first: Sequence[int], length: int) -> None:
        """Set keys and values from the `held` of a cache of the same kind, with its `first`.

        There must be room for them.
        """
        for own, layer in zip(self._layers, layers, strict=True):
            for to, given in zip(own, layer, strict=True):
                if to is not None and given is not None:
                    to[:, : given.shape[1]] = given
        self.packed.first = list(first)
        self.length = length

    def keys(self, layer: int) -> Floats:
        """Return the keys (kv_heads, n, head_dim) of a layer as float32."""
        keys, _, scales, _ = list(self.held())[layer]
        return as_floats(keys, scales)

    def values(self, layer: int) -> Floats:
        """Return the values (kv_heads, n, head_dim) of a layer as float32."""
        _, values, _, scales = list(self.held())[layer]
        return as_floats(values, scales)

    def forget(self, keep: int, n: int) -> None:
        """Drop the n tokens after the first `keep`; later tokens move n positions back.

        Keys are not rotated. OptionError if a layer with a window would miss tokens.
        """
        if keep < 0 or n < 0 or keep + n > self.length:
            raise OptionError(f"{n} tokens after the first {keep} cannot be dropped from {self.length}")
        firsts = self.first
        for window, first in zip(self.windows, firsts, strict=True):
            if window is not None and first and self.length - keep - n < window - 1:
                raise OptionError(
                    f"{self.length - keep - n} tokens would be left after the dropped ones, but a layer sees "
                    f"{window}; drop fewer"
                )
        for layer, first in zip(self._layers, firsts, strict=True):
            start, stop, end = max(keep - first, 0), max(keep + n - first, 0), self.length - first
            for array in layer:
                if array is not None and start < stop:
                    array[:, start : start + end - stop] = array[:, stop:end].copy()
        self.packed.first = [first if first <= keep else max(first, keep + n) - n for first in firsts]
        self.length -= n
        self.ids = None if self.ids is None else np.delete(self.ids, np.s_[keep : keep + n])

    def _take_room(self, room: int, first: list[int]) -> None:
        layout = layer_bytes(*self._shape, dtype=self.dtype, windows=self.windows, tokens=room)
        self._buffer = np.empty(sum(layout), dtype=np.uint8)
        self._room, self._layers, at = room, [], 0
        kv_heads, head_dim = self._shape
        for window, size in zip(self.windows, layout, strict=True):
            rows = kv_rows(room, window)
            part = self._buffer[at : at + size]
            item = np.dtype(DTYPES[self.dtype]).itemsize
            scales: list[Any] = [None, None]
            if self.dtype == "int8":
                many = kv_heads * rows * SCALE.itemsize
                scales = [part[i * many : (i + 1) * many].view(SCALE).reshape(kv_heads, rows) for i in range(2)]
                part = part[2 * many :]
            many = kv_heads * rows * head_dim * item
            parts = [
                part[i * many : (i + 1) * many].view(DTYPES[self.dtype]).reshape(kv_heads, rows, head_dim)
                for i in range(2)
            ]
            self._layers.append(CacheLayer(*parts, *scales))
            at += size
        self.packed = KeyValues(self._layers, first)

    def _move(self, room: int) -> None:
        held, first = list(self.held()), self.first
        self._take_room(room, first)
        self.load(iter(held), first, self.length)


def sees_all(windows: Sequence[int | None] | None, first: Sequence[int], length: int) -> bool:
    """Whether layers with tokens from `first` on keep all tokens visible to the one at position `length`."""
    return windows is None or all(
        window is None or not start or length - start >= window - 1
        for window, start in zip(windows, first, strict=True)
    )


def checked_dtype(dtype: str) -> str:
    """Return the dtype of keys and values; OptionError for an unsupported one."""
    if dtype not in DTYPES:
        raise OptionError(f"the type of a cache is {dtype!r}; it must be one of {', '.join(DTYPES)}")
    return dtype


def layer_bytes(
    kv_heads: int, head_dim: int, *, dtype: str, windows: Sequence[int | None], tokens: int
) -> list[int]:  # fmt: skip
    """Return the bytes of each layer of a cache for this number of tokens.

    >>> layer_bytes(4, 64, dtype="int8", windows=(None, 512), tokens=8192)
    [4456448, 452608]
    """
    row = head_dim * np.dtype(DTYPES[dtype]).itemsize + (SCALE.itemsize if dtype == "int8" else 0)
    return [2 * kv_heads * kv_rows(tokens, window) * row for window in windows]


def as_floats(rows: NDArray[Any], scales: NDArray[np.float32] | None) -> Floats:
    """Return keys or values of any kind as float32."""
    if scales is not None:
        return rows * scales[..., None]
    return (rows.astype(np.uint32) << 16).view(np.float32) if rows.dtype == np.uint16 else np.array(rows)
