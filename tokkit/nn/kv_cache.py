"""`KVCache`: keys and values of earlier tokens, so that decoding computes them once."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, floats


class KVCache:
    """Keys (B, G, n, D) and values (B, G, n, E) of one layer: n tokens are kept of `length` seen.

    There are three kinds. Growing, the default: memory doubles as needed. Fixed: room for `capacity` tokens is
    allocated once, and more raise ShapeError. Sliding: the last `window` tokens are kept, as many as attention with
    this window reads. A cache is the state of one sequence or batch, used by one thread at a time: a call while another
    thread uses it raises OptionError.

    >>> cache = KVCache(window=2)
    >>> for i in range(3):
    ...     k, v = cache.append(np.full((1, 1, 1, 4), i, np.float32), np.full((1, 1, 1, 4), i, np.float32))
    >>> k[0, 0, :, 0].tolist(), cache.length, cache.first
    ([1.0, 2.0], 3, 1)
    """

    def __init__(self, *, capacity: int | None = None, window: int | None = None) -> None:
        if capacity is not None and window is not None:
            raise OptionError("capacity and window are given; give only one of them")
        self.capacity = None if capacity is None else as_int("capacity", capacity, minimum=1)
        self.window = None if window is None else as_int("window", window, minimum=1)
        self.length = 0
        """The number of tokens seen, including dropped ones: the position of the next token."""
        self._keys: Floats | None = None
        self._values: Floats | None = None
        self._start = self._end = 0
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    @property
    def first(self) -> int:
        """The position of the oldest kept token."""
        return self.length - (self._end - self._start)

    def append(self, keys: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
        """Add keys (B, G, T, D) and values (B, G, T, E); return all kept ones, including these, without a copy.

        With a window the result may hold window + T - 1 tokens: the first of the T queries still sees a whole window.
        ShapeError for arrays of other shapes or without room; the cache is then unchanged.
        """
        k, v = floats(keys, "keys"), floats(values, "values")
        if k.ndim != 4 or v.ndim != 4 or k.shape[:3] != v.shape[:3]:
            raise ShapeError(f"keys have shape {k.shape} and values {v.shape}; they must be (B, G, T, D)")
        n = k.shape[2]
        with Use(self):
            if self.capacity is not None and self.length + n > self.capacity:
                raise ShapeError(
                    f"the cache has room for {self.capacity} tokens and contains {self.length}; {n} more do not fit"
                )
            self._check(k, v)
            if self.window is not None:
                self._start = max(self._start, self._end - self.window + 1)
            all_keys, all_values = self._with_room(k, v)
            stop = self._end + n
            all_keys[:, :, self._end : stop] = k
            all_values[:, :, self._end : stop] = v
            self._end, self.length = stop, self.length + n
            return all_keys[:, :, self._start : stop], all_values[:, :, self._start : stop]

    def _check(self, keys: Floats, values: Floats) -> None:
        for there, came, name in ((self._keys, keys, "keys"), (self._values, values, "values")):
            if there is None or (*there.shape[:2], there.shape[3]) == (*came.shape[:2], came.shape[3]):
                continue
            if self.length:
                held = (*there.shape[:2], self._end - self._start, there.shape[3])
                raise ShapeError(
                    f"{name} have shape {came.shape}; those in the cache have {held}, and only T may differ"
                )
            self._keys = self._values = None
            return

    def _with_room(self, keys: Floats, values: Floats) -> tuple[Floats, Floats]:
        n, kept = keys.shape[2], self._end - self._start
        if self._keys is not None and self._values is not None and self._end + n <= self._keys.shape[2]:
            return self._keys, self._values
        # Twice the required size, so that each token is moved a bounded number of times; a window moves instead of
        # growing.
        room = self.capacity or max(2 * (kept + n), 64)
        made = _room(keys, room), _room(values, room)
        for there, fresh in zip((self._keys, self._values), made, strict=True):
            if there is not None:
                fresh[:, :, :kept] = there[:, :, self._start : self._end]
        self._keys, self._values = made
        self._start, self._end = 0, kept
        return made

    def clear(self) -> None:
        """Drop all tokens, to start another batch. The memory is kept for a batch of the same shape."""
        with Use(self):
            self.length = self._start = self._end = 0


class Use:
    """A context that reserves caches for one thread; after an error they are restored, so the call can be repeated.

    Restoring the counters is enough, because appended tokens come after earlier ones, or are in new memory. OptionError
    if another thread uses one of them.
    """

    def __init__(self, *caches: KVCache) -> None:
        self._caches = caches

    def __enter__(self) -> None:
        for number, cache in enumerate(self._caches):
            if not cache._lock.acquire(blocking=False):
                for other in self._caches[:number]:
                    other._lock.release()
                raise OptionError("this cache is in use by another thread; use separate caches for each thread")
        self._before = [((c.length, c._start, c._end), (c._keys, c._values)) for c in self._caches]

    def __exit__(self, kind: object, *_: object) -> None:
        for cache, (numbers, arrays) in zip(self._caches, self._before, strict=True):
            if kind is not None:
                cache.length, cache._start, cache._end = numbers
                cache._keys, cache._values = arrays
            cache._lock.release()


def _room(came: Floats, room: int) -> Floats:
    return np.empty((*came.shape[:2], room, came.shape[3]), dtype=np.float32)
