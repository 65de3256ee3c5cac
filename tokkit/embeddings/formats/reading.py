"""Reads word2vec's .bin and text, and text without a header (GloVe), in chunks, and checks them."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections import Counter
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.vector_file import PackedKeys, VectorReader
from tokkit.embeddings.formats.detection import MAX_SIZE, START, Header, Path, compression, detect, opened
from tokkit.embeddings.formats.rows_in_file import IS_POSSIBLE, RowsInFile
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.strict_json import brief

CHUNK = 1 << 21
"""Bytes read at once: they stay in the cache between reading and parsing."""
CHECKED = 1 << 26
"""Bytes of a mapped file between two moments at which Ctrl-C is heard: more than the longest record."""
FIRST_ROWS = 1 << 22
"""Bytes of the first array if the file's size does not limit the number of vectors."""
MAX_LINE = 1 << 26
"""Maximum bytes of the first line of a text without a header."""
IN_FILE = 1 << 25
"""Bytes of the smallest .bin whose vectors may stay in the file: smaller ones are copied in some milliseconds."""
SAMPLE = 100
"""Lines of a text without a header from which the size of vectors is taken: the most frequent number of fields."""


class Options(NamedTuple):
    """Options of reading: see `KeyedVectors.load_word2vec_format`.

    With `in_file` the vectors of a large .bin may stay in the file.
    """

    limit: int | None = None
    encoding: str = "utf8"
    errors: str = "strict"
    duplicates: str = "error"
    in_file: bool = False


class Found(NamedTuple):
    """The keys of a file, which are distinct, and their vectors (n, d)."""

    keys: PackedKeys | list[str]
    vectors: NDArray[np.float32] | RowsInFile

    def matrix(self) -> NDArray[np.float32]:
        """Return the vectors as an array."""
        return self.vectors if isinstance(self.vectors, np.ndarray) else self.vectors.matrix()


def check(options: Options) -> Options:
    """Return the options; OptionError for invalid values."""
    limit = options.limit
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 1):
        raise OptionError(f"limit is {limit!r}; it must be None or an int of at least 1")
    if options.duplicates not in ("error", "first"):
        raise OptionError(f'duplicates is {options.duplicates!r}; it must be "error" or "first"')
    return options


def read(path: Path, *, binary: bool | None, header: bool | None, options: Options) -> Found:
    """Return the keys and vectors of a file; `binary` and `header` None are detected at the start of the file.

    FormatError names the file, the position and the reason; a header with more vectors than fit in the file is an error
    before memory is allocated.
    """
    check(options)
    with opened(path) as file:
        start = file.read(START)
        form = detect(start)
        if form == "saved" and binary is None:
            raise FormatError("this file was written by KeyedVectors.save; read it with KeyedVectors.load")
        found = Header.of(start) if header is not False else None
        if found is None and (header or binary):
            first = brief(start.partition(b"\n")[0])
            raise FormatError(
                f"the first line is {first}; it must be two numbers: the number of vectors and their size"
            )
        while found is None and b"\n" not in start and len(start) < MAX_LINE and (more := file.read(len(start))):
            start += more
        text = form != "binary" if binary is None else not binary
        size = None if compression(path) else os.fstat(file.fileno()).st_size
        reading = _Reading(file, text=text, header=found, d=found.d if found else _length(start), size=size)
        in_file = options.in_file and IS_POSSIBLE and not text and size is not None and size >= IN_FILE
        return reading.run(options, files.show(path) if in_file else None)


def _length(start: bytes) -> int:
    """Return the size of the vectors of a text without a header; only few keys contain spaces."""
    lines = start.split(b"\n")
    whole = [line.split() for line in (lines[:-1] or lines)[:SAMPLE] if line.strip()]
    if not whole:
        raise FormatError("the file has no line with a vector")
    seen = Counter(len(fields) - 1 for fields in whole)
    d = min(seen, key=lambda n: (-seen[n], n))
    if not 1 <= d <= MAX_SIZE:
        raise FormatError(f"line 1 has {d} numbers after a key; it must have 1 to {MAX_SIZE:,}")
    return d


class _Reading:
    """One pass over a file."""

    def __init__(self, file: BinaryIO, *, text: bool, header: Header | None, d: int, size: int | None) -> None:
        self.file, self.text, self.header, self.d = file, text, header, d
        self.reader = VectorReader(d, line=1 if header else 0)
        self.first = max(1, FIRST_ROWS // (4 * d))
        if header and size is not None:
            # A character and a space; then 4 bytes per number, or a digit with a space or line end, which the last line
            # may lack.
            possible = (size - header.length + text) // (2 + (2 if text else 4) * d)
            if header.n > possible:
                raise FormatError(
                    f"the header states {header.n:,} vectors of {d:,} numbers, but {size:,} bytes hold at most "
                    f"{possible:,}: the file is truncated, or the header is wrong"
                )
            self.first = header.n

    def run(self, options: Options, name: str | None) -> Found:
        """Read it; with the name of the file the vectors stay there."""
        wanted = self._wanted(options.limit)
        self.rows = np.empty((0 if name else min(wanted, self.first), self.d), dtype=np.float32)
        if name:
            self.reader.check_only(wanted)
        elif wanted:
            self.reader.room(self.rows)
        begin = self.header.length if self.header else 0
        self.file.seek(begin)
        left = self._check(begin, wanted) if name else self._fill(wanted) if wanted else self.file.read(START)
        vectors: NDArray[np.float32] | RowsInFile = self.rows[: self.reader.n]
        if name and self.header:
            starts = np.frombuffer(self.reader.starts, dtype=np.int64) + self.header.length
            vectors = RowsInFile(self.file.fileno(), name, starts, self.d)
        announced = self.header.n if self.header else None
        if announced is not None and self.reader.n < min(wanted, announced):
            raise FormatError(
                f"the header states {announced:,} vectors, but the file ends after {self.reader.n:,} ({len(left)} "
                "bytes are left)"
            )
        if options.limit is None and left.strip():
            raise FormatError(
                f"the header states {announced:,} vectors, but {brief(left.lstrip()[:20])} follows after them"
            )
        return self._keyed(vectors, options)

    def _wanted(self, limit: int | None) -> int:
        most = self.header.n if self.header else 1 << 62
        return most if limit is None else min(most, int(limit))

    def _fill(self, wanted: int) -> bytes:
        """Read vectors until there are enough or the file ends; return the remaining bytes."""
        buffer, filled, last = bytearray(CHUNK), 0, False
        while True:
            view = memoryview(buffer)
            if not last and filled < len(buffer):
                got = self.file.readinto(view[filled:])  # type: ignore[attr-defined]
                last, filled = not got, filled + got
            used = self._feed(view[:filled], last)
            rest = filled - used
            buffer[:rest] = view[used:filled]
            view.release()
            filled = rest
            if self.reader.n == wanted:
                return bytes(buffer[:filled])
            if 0 < self.reader.n == len(self.rows):
                grown = np.empty((min(wanted, 2 * len(self.rows)), self.d), dtype=np.float32)
                grown[: len(self.rows)] = self.rows
                self.rows = grown
                self.reader.room(grown)
            elif last:
                return bytes(buffer[:filled])
            elif not used and filled == len(buffer):
                buffer += bytes(len(buffer))

    def _check(self, begin: int, wanted: int) -> bytes:
        """Check so many vectors from this byte of the file on, mapped; return what follows, its start."""
        with mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as whole:
            at = begin
            while self.reader.n < wanted:
                with whole[at : at + CHECKED] as some:
                    used = self._feed(some, last=at + CHECKED >= len(whole))
                if not used:
                    break
                at += used
            return bytes(whole[at : at + START])

    def _feed(self, view: memoryview, last: bool) -> int:
        try:
            return self.reader.feed(view, text=self.text, last=last)
        except ValueError as error:
            where = f"line {self.reader.line}" if self.text else f"vector {self.reader.n + 1}"
            raise FormatError(f"{where}: {error}") from None

    def _keyed(self, vectors: NDArray[np.float32] | RowsInFile, options: Options) -> Found:
        if options.encoding in ("utf8", "utf-8"):
            with contextlib.suppress(ValueError):  # the error is raised below
                return Found(self.reader.packed(), vectors)
        try:
            keys = self.reader.keys(options.encoding, options.errors)
        except UnicodeDecodeError as error:
            number: Any = getattr(error, "row", 0)
            raise FormatError(
                f"vector {number + 1}: its key is not {options.encoding} ({brief(bytes(error.object))}); "
                'read it with errors="replace"'
            ) from None
        except LookupError:
            raise OptionError(f"encoding is {options.encoding!r}; it must be an encoding of Python") from None
        first: dict[str, int] = {}
        for i, key in enumerate(keys):
            if first.setdefault(key, i) != i and options.duplicates == "error":
                raise FormatError(
                    f"vector {i + 1}: the key {brief(key)} is also that of vector {first[key] + 1}; "
                    'duplicates="first" (`tokkit wordvec convert --duplicates first`) keeps the first one'
                )
        if len(first) == len(keys):
            return Found(keys, vectors)
        rows = list(first.values())
        return Found(list(first), vectors.take(rows) if isinstance(vectors, RowsInFile) else vectors[rows])


def read_counts(path: Path, *, encoding: str = "utf8", errors: str = "strict") -> dict[str, int]:
    """Return the counts in a file with a key and its count per line, as written by word2vec's -save-vocab."""
    counts = {}
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            key, _, count = line.strip().rpartition(b" ")
            if not key or not count.isdigit():
                raise FormatError(f"line {number}: {brief(line)}; a line must be a key, a space and its count")
            try:
                counts[key.decode(encoding, errors)] = int(count)
            except UnicodeDecodeError:
                raise FormatError(f"line {number}: the key is not {encoding} ({brief(key)})") from None
    return counts
