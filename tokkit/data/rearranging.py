"""Stores the ids of a shard in a temporary file, and returns its documents shuffled or packed into rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tokkit.data.packing import Ints, best_fit, sequential
from tokkit.data.writers import Chunk
from tokkit.files import temporary_files

CHUNK_IDS = 1 << 22


class Rearranged:
    """Stores chunks (`write`), then returns them rearranged (`chunks`). A context manager, which removes its file."""

    takes_parts = True

    def __init__(self, stem: str, dtype: str) -> None:
        self._path, self._dtype = temporary_files.new(stem, stem), np.dtype(dtype)
        self._ends: list[Ints] = []
        self._n_ids = 0

    def __enter__(self) -> Rearranged:
        self._file = open(self._path, "xb")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        os.unlink(self._path)

    def write(self, chunk: Chunk) -> None:
        """Store the next documents."""
        self._file.write(chunk.ids.data)
        self._ends.append(chunk.ends + self._n_ids)
        self._n_ids += len(chunk.ids)

    def chunks(
        self, pack: str | None, seq_len: int | None, pad: int | None, seed: Sequence[int] | None
    ) -> Iterator[Chunk]:
        """Yield all documents, shuffled with the seed, and packed if requested; packed rows are shuffled too."""
        self._file.flush()
        ids = np.memmap(self._path, dtype=self._dtype, mode="r") if self._n_ids else np.zeros(0, dtype=self._dtype)
        ends = np.concatenate([np.zeros(0, dtype=np.int64), *self._ends])
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])[: len(ends)]
        lengths = ends - starts
        random = None if seed is None else np.random.default_rng(seed)
        if random is not None:
            order = random.permutation(len(ends))
            starts, lengths = starts[order], lengths[order]
        if pack is None or seq_len is None:
            yield from _documents(ids, starts, lengths)
            return
        packed = (sequential if pack == "sequential" else best_fit)(starts, lengths, seq_len)
        rows = np.arange(packed.n_rows)
        if random is not None and pack == "best-fit":  # its rows are sorted by document length
            rows = random.permutation(packed.n_rows)
        first = np.searchsorted(packed.targets // seq_len, np.arange(packed.n_rows + 1))
        a_chunk = max(CHUNK_IDS // seq_len, 1)
        for at in range(0, packed.n_rows, a_chunk):
            chosen = rows[at : at + a_chunk]
            made = np.full(len(chosen) * seq_len, pad, dtype=self._dtype)
            segment_ends = []
            for place, row in enumerate(chosen.tolist()):
                for s in range(first[row], first[row + 1]):
                    begin = int(packed.targets[s]) + (place - row) * seq_len
                    n = int(packed.lengths[s])
                    made[begin : begin + n] = ids[packed.sources[s] : packed.sources[s] + n]
                    segment_ends.append(begin + n)
            yield Chunk(made, np.array(segment_ends, dtype=np.int64), seq_len)


def _documents(ids: NDArray[np.generic], starts: Ints, lengths: Ints) -> Iterator[Chunk]:
    """Yield documents in this order."""
    ends = np.cumsum(lengths)
    at = 0
    while at < len(ends):
        before = int(ends[at] - lengths[at])
        stop = max(int(np.searchsorted(ends, before + CHUNK_IDS)), at + 1)
        found = [ids[s : s + n] for s, n in zip(starts[at:stop].tolist(), lengths[at:stop].tolist(), strict=True)]
        yield Chunk(np.concatenate(found), ends[at:stop] - before)
        at = stop
