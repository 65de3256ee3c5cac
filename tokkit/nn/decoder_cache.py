"""`DecoderCache`: keys and values of all layers for the tokens of one sequence."""

from __future__ import annotations

import numpy as np

from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats
from tokkit.nn.checks import as_int
from tokkit.nn.cross_memory import Memory

FIRST_TOKENS = 256
"""Tokens that a cache without a capacity has room for at first; its room doubles as needed."""


class DecoderCache:
    """Keys and values (n_layers, kv_heads, room, head_dim) of a sequence of which `length` tokens have been read.

    `capacity` is the greatest number of tokens, for which memory is then taken at once; None grows. A cache is one
    sequence's state, used by one thread at a time. `nbytes` is the memory that it takes.

    >>> cache = DecoderCache(n_layers=2, kv_heads=1, head_dim=4, capacity=8)
    >>> cache.length, cache.nbytes
    (0, 512)
    """

    def __init__(self, *, n_layers: int, kv_heads: int, head_dim: int, capacity: int | None = None) -> None:
        self.capacity = None if capacity is None else as_int("capacity", capacity, minimum=1)
        self.length = 0
        self.memory: Memory | None = None
        """What the decoder of an encoder attends to besides; copies share it."""
        self._shape = n_layers, kv_heads, head_dim
        room = FIRST_TOKENS if self.capacity is None else self.capacity
        self.keys, self.values = self._room(room), self._room(room)

    @property
    def nbytes(self) -> int:
        """The bytes of memory that are reserved."""
        return self.keys.nbytes + self.values.nbytes

    def reserve(self, n: int) -> None:
        """Make room for n more tokens; ShapeError if that is more than the capacity."""
        needed = self.length + n
        if needed <= self.keys.shape[2]:
            return
        if self.capacity is not None:
            raise ShapeError(f"the cache has room for {self.capacity} tokens; {self.length} are in it, {n} came")
        room = max(needed, 2 * self.keys.shape[2])
        self.keys, self.values = self._grown(self.keys, room), self._grown(self.values, room)

    def truncate(self, length: int) -> None:
        """Keep the first `length` tokens; OptionError if there are not so many."""
        if not 0 <= length <= self.length:
            raise OptionError(f"length is {length}; the cache has {self.length} tokens")
        self.length = length

    def copy(self, *, room: int = 0) -> DecoderCache:
        """Return a cache of its own with the same tokens, and room for `room` more."""
        n_layers, kv_heads, head_dim = self._shape
        made = DecoderCache(
            n_layers=n_layers, kv_heads=kv_heads, head_dim=head_dim, capacity=max(self.length + room, 1)
        )
        made.keys[:, :, : self.length] = self.keys[:, :, : self.length]
        made.values[:, :, : self.length] = self.values[:, :, : self.length]
        made.length, made.capacity, made.memory = self.length, self.capacity, self.memory
        return made

    def follow(self, other: DecoderCache, start: int) -> None:
        """Hold the same tokens as another cache of which the first `start` are here already."""
        self.truncate(start)
        self.reserve(other.length - start)
        self.keys[:, :, start : other.length] = other.keys[:, :, start : other.length]
        self.values[:, :, start : other.length] = other.values[:, :, start : other.length]
        self.length = other.length

    def _room(self, tokens: int) -> Floats:
        n_layers, kv_heads, head_dim = self._shape
        return np.empty((n_layers, kv_heads, tokens, head_dim), dtype=np.float32)

    def _grown(self, there: Floats, room: int) -> Floats:
        made = self._room(room)
        made[:, :, : self.length] = there[:, :, : self.length]
        return made
