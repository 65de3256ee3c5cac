"""Reads and writes files of counted words: a header, sorted blocks with checksums, and the totals at the end."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from tokkit.errors import FormatError
from tokkit.escaping import show

MAGIC = b"tokkit counts\n\0\0"
VERSION = 1
BLOCK_BYTES = 1 << 18
"""Bytes of a block before compression; merging 64 files at once holds 25 MB."""
LEVEL = 1
"""zlib's level; 6 takes five times as long and saves an eighth (benchmarks/bench_counts.py)."""
MAX_HEADER_BYTES = 1 << 30
COPIED_BYTES = 1 << 20
SUFFIX = ".counts"

_HEAD = struct.Struct("<16sIII")  # MAGIC, VERSION, bytes of the header, its crc32
_BLOCK = struct.Struct("<QQQ")  # bytes in the file, bytes of the words (0: the end), number of words
_CRC = struct.Struct("<I")  # of these three numbers and the bytes in the file
_TAIL = struct.Struct("<Q8s")  # position of the totals
_TAIL_MARK = b"counted\n"


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file of counts.

    `counting` says what a word is; counts can be added if `counting`, `unit` and `min_count` are equal. `sources` are
    the counted shards, each with its "path", its "key" (which differs after the shard has changed), the name of its
    "source" if it has one, and the "weight" by which its counts were multiplied. Words that occur less than `min_count`
    times in total were left out.
    """

    counting: Mapping[str, Any]
    unit: str
    sources: tuple[Mapping[str, Any], ...] = ()
    min_count: int = 1

    def as_json(self) -> bytes:
        """Return the header as bytes of a file."""
        about = {"counting": dict(self.counting), "unit": self.unit, "min_count": self.min_count}
        # In ASCII, because names of files may contain bytes that are not UTF-8.
        return json.dumps({**about, "sources": [dict(source) for source in self.sources]}).encode()

    @classmethod
    def of_json(cls, data: bytes) -> Header:
        """Read the header of a file; ValueError if it is invalid."""
        found = json.loads(data)
        match found:
            case {"counting": dict(counting), "unit": str(unit), "min_count": int(min_count), "sources": list(sources)}:
                if all(isinstance(s, dict) and {"path", "key"} <= s.keys() for s in sources):
                    return cls(counting, unit, tuple(sources), min_count)
        raise ValueError("keys are missing")


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a file of counts: distinct words, the sum of their counts, and blocks."""

    words: int
    total: int
    blocks: int


def compressed(block: bytes, n_words: int) -> bytes:
    """Return a block as bytes of a file: its sizes, a checksum, and the compressed words."""
    return _record(zlib.compress(block, LEVEL), len(block), n_words)


def _record(data: bytes, size: int, n_words: int) -> bytes:
    sizes = _BLOCK.pack(len(data), size, n_words)
    return sizes + _CRC.pack(zlib.crc32(data, zlib.crc32(sizes))) + data


class CountsWriter:
    """Writes a file of counts to an open binary file: blocks in order, then `finish`."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self._words = self._blocks = 0
        data = header.as_json()
        self._place = file.write(_HEAD.pack(MAGIC, VERSION, len(data), zlib.crc32(data)) + data)

    def put(self, record: bytes, n_words: int) -> None:
        """Write a block that `compressed` made."""
        self._place += self._file.write(record)
        self._words += n_words
        self._blocks += 1

    def finish(self, total: int) -> Totals:
        """Write the totals, at the end of the file."""
        totals = Totals(self._words, total, self._blocks)
        said = {"words": totals.words, "total": totals.total, "blocks": totals.blocks}
        self._file.write(_record(json.dumps(said).encode(), 0, 0))
        self._file.write(_TAIL.pack(self._place, _TAIL_MARK))
        return totals


@dataclass
class CountsReader:
    """Reads a file of counts: header and totals first, then `blocks`. FormatError says what is wrong."""

    path: str
    header: Header = field(init=False)
    totals: Totals = field(init=False)
    _start: int = field(init=False)

    def __post_init__(self) -> None:
        with open(self.path, "rb") as file:
            try:
                magic, version, size, crc = _HEAD.unpack(file.read(_HEAD.size))
            except struct.error:
                magic = b""
            if magic != MAGIC:
                raise self._error("is not a file of counts; tokkit counts build makes them")
            if version != VERSION:
                raise self._error(f"has version {version} of the format; this tokkit reads only version {VERSION}")
            data = file.read(min(size, MAX_HEADER_BYTES))
            try:
                if len(data) != size or zlib.crc32(data) != crc:
                    raise ValueError("its checksum is wrong")
                self.header = Header.of_json(data)
            except ValueError as error:
                raise self._error(f"has a corrupt header: {error}") from None
            self._start = file.tell()
            self.totals = self._read_totals(file)

    def _error(self, what: str) -> FormatError:
        return FormatError(f"{show(self.path)} {what}")

    def _read_totals(self, file: BinaryIO) -> Totals:
        cut = self._error("ends early: it is truncated, or not complete yet")
        try:
            file.seek(-_TAIL.size, os.SEEK_END)
            place, mark = _TAIL.unpack(file.read(_TAIL.size))
        except (OSError, struct.error):
            raise cut from None
        if mark != _TAIL_MARK or not self._start <= place < file.tell():
            raise cut
        file.seek(place)
        data, size, _ = self._record(file, "the totals")
        try:
            found = json.loads(data)
            totals = Totals(int(found["words"]), int(found["total"]), int(found["blocks"]))
        except (ValueError, KeyError, TypeError):
            size = 1
        if size:
            raise self._error("has corrupt totals")
        return totals

    def _record(self, file: BinaryIO, what: str) -> tuple[bytes, int, int]:
        sizes = file.read(_BLOCK.size)
        crc = file.read(_CRC.size)
        if len(sizes) + len(crc) < _BLOCK.size + _CRC.size:
            raise self._error(f"ends early, before {what}")
        n, size, n_words = _BLOCK.unpack(sizes)
        # Never more than the file has, because reading allocates the requested size first.
        data = file.read(n) if n <= os.fstat(file.fileno()).st_size - file.tell() else b""
        if len(data) != n or zlib.crc32(data, zlib.crc32(sizes)) != _CRC.unpack(crc)[0]:
            raise self._error(f"is corrupt: the checksum of {what} is wrong")
        return data, size, n_words

    def blocks(self) -> Iterator[bytes]:
        """Yield the blocks of words; FormatError for one that is corrupt, or if they are not as many as the totals."""
        n_words = 0
        with open(self.path, "rb") as file:
            file.seek(self._start)
            for number in range(1, self.totals.blocks + 1):
                data, size, n = self._record(file, f"block {number}")
                try:
                    if size < 1:
                        raise ValueError
                    block = zlib.decompressobj().decompress(data, size)
                except (zlib.error, ValueError):
                    raise self._error(f"is corrupt: block {number} cannot be decompressed") from None
                if len(block) != size:
                    raise self._error(f"is corrupt: block {number} does not have the size in its header")
                n_words += n
                yield block
            if n_words != self.totals.words or self._record(file, "the totals")[1]:
                raise self._error("is corrupt: its totals do not match its blocks")

    def copy_with(self, header: Header, path: str) -> None:
        """Write a new file with another header and the same blocks, which are not decompressed."""
        data = header.as_json()
        with open(self.path, "rb") as file, open(path, "xb") as made:
            last = file.seek(-_TAIL.size, os.SEEK_END)
            end, mark = _TAIL.unpack(file.read(_TAIL.size))
            place = made.write(_HEAD.pack(MAGIC, VERSION, len(data), zlib.crc32(data)) + data)
            file.seek(self._start)
            for start in range(self._start, last, COPIED_BYTES):
                made.write(file.read(min(COPIED_BYTES, last - start)))
            made.write(_TAIL.pack(end - self._start + place, mark))

    def out_of_order(self) -> FormatError:
        """Return the error for an invalid block."""
        return self._error("is corrupt: its words are malformed or not sorted")
