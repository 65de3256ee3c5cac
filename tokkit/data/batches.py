"""Cuts ids into rows and returns batches in shuffled order, for several processes, from any position on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tokkit.data.writers import segment_ids
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.data.tokens import Tokens

State = Mapping[str, Any]
Ints = NDArray[np.int64]
Places = tuple[Ints, Ints]
"""The shard of each row, and the start of the row in it."""
ROWS_AT_ONCE = 1 << 12
"""Number of rows whose positions are computed at once."""
_ROUNDS = 4
_AS_DRAWN = ("seq_len", "lookahead", "seed", "epoch", "n_rows", "tokenizer")
"""The options that rows and their order depend on; a state is valid only for the same values."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of ids: shape (batch_size, seq_len + lookahead), with the dtype of the files.

    `segments` has the number of each id's document in its row, from 1, and 0 for padding, to mask attention between
    documents. It is None unless requested.
    """

    ids: NDArray[Any]
    segments: NDArray[np.int32] | None


class TokenBatches:
    """The batches of an epoch for one process: an iterator that can be stopped and resumed.

    A row is `seq_len` ids plus `lookahead` more (1 for the targets of a causal model); the next row begins after
    `seq_len`. No row crosses shards, and an incomplete row at the end of a shard is left out; packed shards set
    `seq_len`. With a `seed` rows are shuffled by it and `epoch`, without memory for the order; without, they are in
    file order. Batch k of rank r begins at row (k · world_size + r) · batch_size: all ranks have the same number of
    batches, and rows after the last full round are left out.

    `state` is the position in the epoch after each batch, and `resume_state` continues from it, also with another batch
    size or number of processes; each row is read once. A state for other rows raises OptionError.
    """

    def __init__(
        self,
        tokens: Tokens,
        seq_len: int,
        batch_size: int,
        *,
        seed: int | None = None,
        epoch: int = 0,
        rank: int = 0,
        world_size: int = 1,
        lookahead: int = 0,
        segments: bool = False,
        resume_state: State | None = None,
    ) -> None:
        for name, value, minimum in (
            ("seq_len", seq_len, 1),
            ("batch_size", batch_size, 1),
            ("world_size", world_size, 1),
            ("lookahead", lookahead, 0),
            ("epoch", epoch, 0),
            ("rank", rank, 0),
            ("seed", 0 if seed is None else seed, 0),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
                raise OptionError(f"{name} is {value!r}; it must be an int of at least {minimum}")
        if rank >= world_size:
            raise OptionError(f"rank is {rank}; it must be below world_size, {world_size}")
        packed = tokens.seq_len
        if packed is not None and (seq_len != packed or lookahead):
            raise OptionError(
                f"the shards have packed rows of {packed} ids; seq_len must be equal to that, and lookahead must be 0"
            )
        self.tokens, self.seq_len, self.batch_size, self.lookahead = tokens, seq_len, batch_size, lookahead
        self.rank, self.world_size, self.seed, self.epoch, self._segments = rank, world_size, seed, epoch, segments
        rows = [max(len(shard) - lookahead, 0) // seq_len for shard in tokens.shards]
        self._first = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])
        self.n_rows = int(self._first[-1])
        """Rows of all shards."""
        self._order = None if seed is None else _Order(self.n_rows, seed, epoch)
        self._begin = 0 if resume_state is None else self._resumed(resume_state)
        self._taken = 0
        self._held: tuple[int, Places] = -1, (np.zeros(0, dtype=np.int64),) * 2
        self._windows: dict[int, NDArray[Any]] = {}

    def _about(self) -> dict[str, Any]:
        about = {name: getattr(self, name) for name in _AS_DRAWN if name != "tokenizer"}
        return {**about, "tokenizer": self.tokens.manifest["tokenizer"]}

    def _resumed(self, state: State) -> int:
        for name, value in self._about().items():
            if state.get(name) != value:
                raise OptionError(f"the state was saved with {name} {state.get(name)!r}, but {name} is {value!r} now")
        done = state.get("rows_done")
        if isinstance(done, bool) or not isinstance(done, int) or not 0 <= done <= self.n_rows:
            raise OptionError(f"the state has rows_done {done!r}; it must be an int from 0 to {self.n_rows}")
        return done

    def __len__(self) -> int:
        """Return the number of batches, from the resumed position on."""
        return (self.n_rows - self._begin) // (self.batch_size * self.world_size)

    def state_after(self, n_batches: int) -> dict[str, Any]:
        """Return the state after every rank has taken this number of batches, as JSON values."""
        return {**self._about(), "rows_done": self._begin + n_batches * self.batch_size * self.world_size}

    @property
    def state(self) -> dict[str, Any]:
        """The state after the batches taken so far."""
        return self.state_after(self._taken)

    def __getitem__(self, number: int) -> Batch:
        """Return a batch by its number."""
        at = range(len(self))[number]
        start = self._begin + (at * self.world_size + self.rank) * self.batch_size
        taken: list[Places] = []
        n = 0
        while n < self.batch_size:
            block, offset = divmod(start + n, ROWS_AT_ONCE)
            some = slice(offset, offset + self.batch_size - n)
            shards, begins = self._places(block)
            taken.append((shards[some], begins[some]))
            n += len(shards[some])
        shards, begins = taken[0] if len(taken) == 1 else map(np.concatenate, zip(*taken, strict=True))
        numbers = None
        if self._segments:
            places = zip(shards.tolist(), begins.tolist(), strict=True)
            numbers = np.stack([self._numbers(shard, begin) for shard, begin in places])
        return Batch(self._rows(shards, begins), numbers)

    def _rows(self, shards: Ints, begins: Ints) -> NDArray[Any]:
        """Return the rows at these positions; numpy copies those of one shard at once (bench_shards)."""
        if (shards == shards[0]).all():
            return self._window(int(shards[0]))[begins]
        made = np.empty((len(begins), self.seq_len + self.lookahead), dtype=self.tokens.dtype)
        for shard in np.unique(shards).tolist():
            of_shard = shards == shard
            made[of_shard] = self._window(shard)[begins[of_shard]]
        return made

    def _window(self, shard: int) -> NDArray[Any]:
        """Return a view of a shard whose row k begins at its id k."""
        if shard not in self._windows:
            ids = np.asarray(self.tokens.shards[shard])
            self._windows[shard] = sliding_window_view(ids, self.seq_len + self.lookahead)
        return self._windows[shard]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the windows, which pickle would copy row by row."""
        return {**self.__dict__, "_windows": {}}

    def __iter__(self) -> Iterator[Batch]:
        for number in range(self._taken, len(self)):
            batch = self[number]
            self._taken = number + 1
            yield batch

    def _places(self, block: int) -> Places:
        """Return the shards and positions of a block of rows; numpy takes as long for one row."""
        if self._held[0] != block:
            rows = np.arange(block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, self.n_rows))
            rows = rows if self._order is None else self._order(rows)
            shards = np.searchsorted(self._first, rows, side="right") - 1
            begins = (rows - self._first[shards]) * self.seq_len
            self._held = block, (shards, begins)
        return self._held[1]

    def _numbers(self, shard: int, begin: int) -> NDArray[np.int32]:
        """Return the numbers of the segments in a row."""
        ends, width = self.tokens.ends(shard), self.seq_len + self.lookahead
        first, last = np.searchsorted(ends, [begin, begin + width], side="right")
        inside = np.unique(ends[first:last]) - begin
        # A document may continue after the row; a packed row ends in padding.
        if self.tokens.seq_len is None and (not len(inside) or inside[-1] != width):
            inside = np.append(inside, width)
        return segment_ids(inside, width, width)


class _Order:
    """A permutation of range(n), computed on demand: a Feistel network with cycle walking.

    Luby and Rackoff 1988; Black and Rogaway 2002, §3 (cycle walking). The order is pseudo-random, not cryptographically
    secure.
    """

    def __init__(self, n: int, seed: int, epoch: int) -> None:
        self._n = n
        self._half = max((max(n - 1, 1).bit_length() + 1) // 2, 1)
        self._keys = np.random.default_rng([seed, epoch]).integers(0, 1 << 63, _ROUNDS, dtype=np.uint64)

    def __call__(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the permuted numbers."""
        made = self._mixed(numbers.astype(np.uint64))
        while len(outside := np.flatnonzero(made >= self._n)):
            made[outside] = self._mixed(made[outside])
        return made.astype(np.int64)

    def _mixed(self, x: NDArray[np.uint64]) -> NDArray[np.uint64]:
        half, mask = np.uint64(self._half), np.uint64((1 << self._half) - 1)
        left, right = x >> half, x & mask
        for key in self._keys:
            h = (right + key) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
            h *= np.uint64(0xBF58476D1CE4E5B9)
            left, right = right, left ^ ((h >> np.uint64(32)) & mask)
        return left << half | right
