"""Keys and values of each new token in, those of all that a query may see out: what decoding does not do again."""

from __future__ import annotations

import numpy as np

from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats


class KVCache:
    """Keys and values of one layer: (B, G, n, D) and (B, G, n, E), the n that are kept of `length` seen.

    Three kinds: growing (the default), in memory that doubles as needed; contiguous, `capacity` tokens reserved once,
    more being an error; sliding, the last `window` tokens, older ones forgotten: with sliding-window attention
    nothing is lost. A cache is state: one sequence's, or one batch's, and one thread's at a time.

    >>> cache = KVCache(window=2)
    >>> for i in range(3):
    ...     k, v = cache.append(np.full((1, 1, 1, 4), i, np.float32), np.full((1, 1, 1, 4), i, np.float32))
    >>> k[0, 0, :, 0].tolist(), cache.length, cache.first
    ([1.0, 2.0], 3, 1)
    """

    def __init__(self, *, capacity: int | None = None, window: int | None = None) -> None:
        for name, value in (("capacity", capacity), ("window", window)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise OptionError(f"{name} is a number of at least 1, not {value!r}")
        if capacity is not None and window is not None:
            raise OptionError("a cache has a capacity or a window, not both")
        self.capacity, self.window = capacity, window
        self.length = 0
        """Tokens seen, forgotten ones included: the position of the next."""
        self._keys: Floats | None = None
        self._values: Floats | None = None
        self._start = self._end = 0

    @property
    def first(self) -> int:
        """The position of the oldest token that is kept."""
        return self.length - (self._end - self._start)

    def append(self, keys: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Add keys (B, G, T, D) and values (B, G, T, E); return all that are kept, these included, without a copy.

        With a window, the T tokens' own queries see what is kept before it is forgotten: the result may hold
        window + T - 1 tokens.
        """
        if keys.ndim != 4 or values.ndim != 4 or keys.shape[:3] != values.shape[:3]:
            raise ShapeError(f"keys have shape {keys.shape} and values {values.shape}; they must be (B, G, T, D)")
        n = keys.shape[2]
        if self.capacity is not None and self.length + n > self.capacity:
            raise ShapeError(f"the cache has room for {self.capacity} tokens; {self.length} are in it, {n} came")
        if self.window is not None:
            self._start = max(self._start, self._end - self.window + 1)
        all_keys, all_values = self._with_room(keys, values)
        stop = self._end + n
        all_keys[:, :, self._end : stop] = keys
        all_values[:, :, self._end : stop] = values
        self._end, self.length = stop, self.length + n
        return all_keys[:, :, self._start : stop], all_values[:, :, self._start : stop]

    def _with_room(self, keys: Floats, values: Floats) -> tuple[Floats, Floats]:
        n, kept = keys.shape[2], self._end - self._start
        for there, came, name in ((self._keys, keys, "keys"), (self._values, values, "values")):
            if there is not None and (*there.shape[:2], there.shape[3]) != (*came.shape[:2], came.shape[3]):
                raise ShapeError(f"{name} have shape {came.shape}; those in the cache are of {there.shape}, T apart")
        if self._keys is not None and self._values is not None and self._end + n <= self._keys.shape[2]:
            return self._keys, self._values
        # Twice what is needed, so that tokens are moved a bounded number of times; a window moves in place of growing.
        room = self.capacity or max(2 * (kept + n), 64)
        made = _room(keys, room), _room(values, room)
        for there, fresh in zip((self._keys, self._values), made, strict=True):
            if there is not None:
                fresh[:, :, :kept] = there[:, :, self._start : self._end]
        self._keys, self._values = made
        self._start, self._end = 0, kept
        return made

    def clear(self) -> None:
        """Forget all tokens; the memory stays."""
        self.length = self._start = self._end = 0


def _room(came: Floats, room: int) -> Floats:
    return np.empty((*came.shape[:2], room, came.shape[3]), dtype=np.float32)
