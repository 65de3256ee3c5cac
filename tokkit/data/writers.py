"""Writes the ids of a shard in each format: raw, .npy, Megatron's two files, Arrow and Parquet."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tokkit.corpus.id_writers import IdWriter
from tokkit.errors import OptionError
from tokkit.files import temporary_files

MEGATRON_CODES = {"uint16": 8, "int32": 4}
"""Megatron's codes of dtypes; uint32 has none."""
_MEGATRON_HEAD = struct.Struct("<9sQBQQ")
_MEGATRON_MARK = b"MMIDIDX\0\0"

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next ids, and the ends of documents (or of segments) in them; packed rows have `seq_len` ids."""

    ids: NDArray[Any]
    ends: Ints
    seq_len: int | None = None


class Asides:
    """New files that get their names when the `with` block ends without an error."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._files: dict[str, str] = {}
        self._open = contextlib.ExitStack()

    def create(self, target: str) -> BinaryIO:
        """Open a new file for `target`."""
        if not self._files:
            temporary_files.clear(self._job)
        self._files[target] = temporary_files.new(target, self._job)
        return self._open.enter_context(open(self._files[target], "xb"))

    def __enter__(self) -> Asides:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._open.close()
            if kind is None:
                for target, aside in self._files.items():
                    os.replace(aside, target)
        finally:
            for aside in self._files.values():
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(aside)


class Writer:
    """Writes one shard, as a context manager: its files get their names at the end, without an error."""

    takes_parts = True
    """Whether a chunk may end inside a document."""

    def __init__(self, stem: str, dtype: str, about: Mapping[str, Any]) -> None:
        self.stem, self.dtype, self.about = stem, dtype, about
        self.n_ids = 0
        self.files: list[str] = []
        """The paths of the written files."""
        self.digests: dict[str, str] = {}
        """The sha256 of the files whose bytes were written in order."""
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> Writer:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._exits:  # so that after an error, also in `finish`, no file gets its name
            if error is not None:
                raise error
            self.finish()

    def _create(self, suffix: str) -> BinaryIO:
        self.files.append(self.stem + suffix)
        return self._asides.create(self.stem + suffix)

    def begin(self) -> None:
        """Open the files."""
        self._asides = self._exits.enter_context(Asides(self.stem))

    def write(self, chunk: Chunk) -> None:
        """Write the next ids."""
        raise OptionError("a format must be chosen")

    def finish(self) -> None:
        """Write the data after all ids."""


class FlatWriter(Writer):
    """Raw ids, and the ends of documents in a separate .npy file."""

    kind = "bin"

    def begin(self) -> None:
        """Open the files."""
        super().begin()
        self._ids = self._exits.enter_context(
            IdWriter(f"{self.stem}.{self.kind}", self.kind, dtype=self.dtype, about=self.about)
        )
        self._hash = hashlib.sha256()
        self._ends: list[Ints] = []

    def write(self, chunk: Chunk) -> None:
        """Write the next ids."""
        if self.kind == "bin":
            self._hash.update(chunk.ids.astype(chunk.ids.dtype.newbyteorder("<"), copy=False).data)
        self._ids.write(chunk.ids.data)
        self._ends.append(chunk.ends + self.n_ids)
        self.n_ids += len(chunk.ids)

    def finish(self) -> None:
        """Write the ends."""
        ends = np.concatenate([np.zeros(0, dtype="<i8"), *self._ends]).astype("<i8")
        self._ids.documents = len(ends)
        file = self._create(".ends.npy")
        np.save(file, ends)
        name = f"{self.stem}.{self.kind}"
        self.files.append(name)
        if self.kind == "bin":
            self.files.append(name + ".json")
            self.digests[name] = self._hash.hexdigest()


class NpyWriter(FlatWriter):
    """Ids in a .npy file."""

    kind = "npy"


class MegatronWriter(Writer):
    """Megatron-LM's indexed dataset: a .bin of ids, and an .idx with the length and place of each document."""

    def begin(self) -> None:
        """Open the files."""
        super().begin()
        self._file = self._create(".bin")
        self._hash = hashlib.sha256()
        self._ends: list[Ints] = []

    def write(self, chunk: Chunk) -> None:
        """Write the next ids."""
        data = chunk.ids.astype(np.dtype(self.dtype).newbyteorder("<"), copy=False).data
        self._hash.update(data)
        self._file.write(data)
        self._ends.append(chunk.ends + self.n_ids)
        self.n_ids += len(chunk.ids)

    def finish(self) -> None:
        """Write the index."""
        lengths = np.diff(np.concatenate([np.zeros(0, dtype=np.int64), *self._ends]), prepend=0).astype("<i4")
        pointers = (np.cumsum(lengths, dtype="<i8") - lengths) * np.dtype(self.dtype).itemsize
        n = len(lengths)
        file = self._create(".idx")
        file.write(_MEGATRON_HEAD.pack(_MEGATRON_MARK, 1, MEGATRON_CODES[self.dtype], n, n + 1))
        for array in (lengths, pointers.astype("<i8"), np.arange(n + 1, dtype="<i8")):
            file.write(array.tobytes())
        self.digests[self.stem + ".bin"] = self._hash.hexdigest()


def megatron_ends(path: str) -> tuple[str, Ints]:
    """Return the dtype of the ids and the end of each document in an .idx; ValueError if it is malformed."""
    with open(path, "rb") as file:
        head = file.read(_MEGATRON_HEAD.size)
        if len(head) != _MEGATRON_HEAD.size:
            raise ValueError("it is truncated")
        mark, version, code, n, pointers = _MEGATRON_HEAD.unpack(head)
        names = {code: name for name, code in MEGATRON_CODES.items()}
        if mark != _MEGATRON_MARK or version != 1 or code not in names:
            raise ValueError("it is not a Megatron index")
        # Check the size first: numpy would allocate memory for all of it.
        if os.fstat(file.fileno()).st_size != _MEGATRON_HEAD.size + 20 * n + 8 or pointers != n + 1:
            raise ValueError(f"its size does not match {n:,} documents")
        lengths = np.frombuffer(file.read(4 * n), dtype="<i4")
        return names[code], np.cumsum(lengths, dtype=np.int64)


class TableWriter(Writer):
    """One row per document or packed row, with the column input_ids; packed rows have segment_ids too."""

    takes_parts = False
    suffix = ".arrow"

    def begin(self) -> None:
        """Open the file."""
        self._table: Any = None
        super().begin()
        self._file = self._create(self.suffix)

    def write(self, chunk: Chunk) -> None:
        """Write the next rows."""
        import pyarrow

        packed, n = chunk.seq_len, len(chunk.ids)
        ends = chunk.ends if packed is None else np.arange(packed, n + 1, packed)
        offsets = pyarrow.array(np.concatenate([[0], ends]).astype(np.int32))
        columns = {"input_ids": pyarrow.ListArray.from_arrays(offsets, pyarrow.array(chunk.ids))}
        if packed is not None:
            numbers = segment_ids(chunk.ends, n, packed)
            columns["segment_ids"] = pyarrow.ListArray.from_arrays(offsets, pyarrow.array(numbers))
        self._put(pyarrow.record_batch(columns))
        self.n_ids += n

    def _put(self, batch: Any) -> None:
        import pyarrow

        if self._table is None:
            self._table = self._exits.enter_context(pyarrow.ipc.new_stream(self._file, batch.schema))
        self._table.write_batch(batch)

    def finish(self) -> None:
        """Write an empty table if there were no rows."""
        if self._table is None:
            self.write(Chunk(np.zeros(0, dtype=self.dtype), np.zeros(0, dtype=np.int64)))


class ParquetWriter(TableWriter):
    """The same table in a .parquet file."""

    suffix = ".parquet"

    def _put(self, batch: Any) -> None:
        from pyarrow import parquet

        if self._table is None:
            self._table = self._exits.enter_context(parquet.ParquetWriter(self._file, batch.schema))
        self._table.write_batch(batch)


def segment_ids(ends: Ints, n: int, seq_len: int) -> NDArray[np.int32]:
    """Return the segment number of each id in its row of `seq_len`, from 1; 0 for padding.

    `ends` are the ends of the segments in n ids; a segment begins at the end of the previous one, or at its row.
    """
    rows = (ends - 1) // seq_len
    starts = np.maximum(np.concatenate([np.zeros(1, dtype=np.int64), ends])[: len(ends)], rows * seq_len)
    numbers = (np.arange(len(ends)) - np.searchsorted(rows, rows) + 1).astype(np.int32)
    made = np.zeros(n + 1, dtype=np.int32)
    made[starts] += numbers
    made[ends] -= numbers
    return np.cumsum(made, dtype=np.int32)[:n]


WRITERS: dict[str, type[Writer]] = {
    "bin": FlatWriter,
    "npy": NpyWriter,
    "megatron": MegatronWriter,
    "arrow": TableWriter,
    "parquet": ParquetWriter,
}
