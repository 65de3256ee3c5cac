"""Attention sinks: texts of any length in constant memory, with the first tokens and a window of the last ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import as_int
from tokkit.errors import ShapeError
from tokkit.nn.arrays import Floats, floats
from tokkit.nn.attention import attention, check_heads
from tokkit.nn.rope import Rope


class SinkCache:
    """Keys and values of the first `n_sinks` and the last `window` of `length` tokens seen: constant memory.

    A cache is the state of one sequence or batch, used by one thread at a time.
    """

    def __init__(self, *, n_sinks: int = 4, window: int) -> None:
        self.n_sinks, self.window = as_int("n_sinks", n_sinks, minimum=0), as_int("window", window, minimum=1)
        self.length = 0
        """The number of tokens seen, including dropped ones: the position of the next token."""
        self._keys: Floats | None = None
        self._values: Floats | None = None
        # Rows start … end hold the last tokens, the n_sinks rows before them the first tokens.
        self._start, self._end = self.n_sinks, 0

    @property
    def nbytes(self) -> int:
        """The bytes of memory that keys and values take."""
        return 0 if self._keys is None or self._values is None else self._keys.nbytes + self._values.nbytes

    def append(self, keys: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Add keys (B, G, T, D) and values (B, G, T, E); return those that these see, and their positions (n)."""
        k, v = floats(keys, "keys"), floats(values, "values")
        n = k.shape[2] if k.ndim == 4 else 0
        if k.ndim != 4 or v.ndim != 4 or k.shape[:3] != v.shape[:3]:
            raise ShapeError(f"keys have shape {k.shape} and values {v.shape}; they must be (B, G, T, D)")
        for held, came in ((self._keys, k), (self._values, v)):
            if held is not None and (*held.shape[:2], held.shape[3]) != (*came.shape[:2], came.shape[3]):
                raise ShapeError(
                    f"the cache has shape (B, G, n, D) {held.shape}, the new keys {came.shape}; only n may differ"
                )
        sinks, start = self.n_sinks, max(self._start, self._end - self.window + 1)
        all_keys, all_values = self._keys, self._values
        if all_keys is None or all_values is None or self._end + n > all_keys.shape[2]:
            room = 2 * (sinks + self.window + n)
            all_keys, all_values = self._moved(all_keys, k, start, room), self._moved(all_values, v, start, room)
            start, self._end = sinks, sinks + self._end - start
        elif start != self._start:
            # The sinks are moved over the rows of dropped tokens, so that all kept rows are contiguous.
            for rows in (all_keys, all_values):
                rows[:, :, start - sinks : start] = rows[:, :, self._start - sinks : self._start].copy()
        self._keys, self._values, self._start = all_keys, all_values, start
        stop = self._end + n
        all_keys[:, :, self._end : stop], all_values[:, :, self._end : stop] = k, v
        self._end, self.length = stop, self.length + n
        first = start - sinks
        positions = np.arange(stop - first)
        positions[sinks:] += self.length - len(positions)
        return all_keys[:, :, first:stop], all_values[:, :, first:stop], positions

    def _moved(self, rows: Floats | None, came: Floats, start: int, room: int) -> Floats:
        # New memory that starts with the sinks seen so far, then the window.
        made = np.empty((*came.shape[:2], room, came.shape[3]), dtype=np.float32)
        if rows is not None:
            held, first = min(self.length, self.n_sinks), self._start - self.n_sinks
            made[:, :, :held] = rows[:, :, first : first + held]
            made[:, :, self.n_sinks : self.n_sinks + max(self._end - start, 0)] = rows[:, :, start : self._end]
        return made


def sink_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    cache: SinkCache,
    *,
    rope: Rope | None = None,
    scale: float | None = None,
) -> Floats:
    """Return attention of the next T tokens to the first tokens of the text and to a window of the last ones.

    query (B, H, T, D), key (B, G, T, D), value (B, G, T, E), G a divisor of H, not rotated yet → (B, H, T, E). Keys
    and values are added to `cache`. A query sees itself, the window - 1 tokens before it, and the sinks; the result
    does not depend on how the text is divided into calls. With `rope`, positions are those within the cache: keys of
    the window have their true distance, and the distance of sinks is limited by the length of the cache, so that no
    rotation exceeds those of training.

    Weights of a softmax sum to 1, so models learn to give the first tokens the weight that no other token needs;
    without these tokens in the window they fail. Time T·(n_sinks + window)·(2 D + E) and memory
    (n_sinks + window)·(2 D + E) for any length of the text: a query is rotated twice, for the sinks and for the window,
    in separate columns.
    Raises ShapeError for arrays that do not fit. Source: Xiao et al. 2024 (StreamingLLM), 3.2.

    >>> cache, token = SinkCache(n_sinks=2, window=3), np.ones((1, 1, 1, 4), np.float32)
    >>> for _ in range(100):
    ...     out = sink_attention(token, token, token, cache)
    >>> cache.length, cache.append(token, token)[2].tolist()
    (100, [0, 1, 98, 99, 100])
    """
    q, k, v = (floats(array, name) for array, name in ((query, "query"), (key, "key"), (value, "value")))
    if not q.ndim == k.ndim == v.ndim == 4 or q.shape[2] != k.shape[2]:
        raise ShapeError(
            f"query, key and value have shapes {q.shape}, {k.shape} and {v.shape}; each must be (B, H, T, D)"
        )
    check_heads(q, k, v)
    scale = q.shape[3] ** -0.5 if scale is None and q.shape[3] else scale
    now = np.arange(cache.length, cache.length + q.shape[2])
    if rope is not None:
        longest = cache.n_sinks + cache.window
        turned = rope(k, now, length=longest)
        is_sink = (now < cache.n_sinks)[:, None]
        k = np.concatenate([np.where(is_sink, np.float32(0), turned), np.where(is_sink, turned, np.float32(0))], axis=3)
        both = now, np.minimum(now, longest - 1)
        q = np.concatenate([rope(q, positions, length=longest) for positions in both], axis=3)
    keys, values, where = cache.append(k, v)
    distance = now[:, None] - where
    sees = (distance >= 0) & ((distance < cache.window) | (where < cache.n_sinks))
    made: Floats = attention(q, keys, values, mask=None if sees.all() else sees, scale=scale)
    return made
