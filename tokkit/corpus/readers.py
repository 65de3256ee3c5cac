"""Reads documents from files, tables, stdin, iterators and data frames, as blocks of UTF-8."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tokkit._core.documents import documents as documents_of
from tokkit._core.documents import paragraph_ends
from tokkit.checks import ordered
from tokkit.corpus import json_lines, records
from tokkit.corpus.paths import TABLES, files_of, holds_records, input_name, opened, read_errors, size_of, suffix_of
from tokkit.corpus.stream_blocks import CleanedStream, Cut, Source, StreamBlocks
from tokkit.corpus.utf8 import TO_GO_ON, not_utf8
from tokkit.errors import CorpusError, OptionError

Unit = Literal["line", "paragraph", "file"]
InputErrors = Literal["strict", "replace", "ignore"]

UNITS = ("line", "paragraph", "file")
INPUT_ERRORS = ("strict", "replace", "ignore")
LOOKED_AT = 8
"""Number of first texts of an iterator that are checked for being names of files by mistake."""
LOOKED_BACK = 1 << 14
"""Bytes at the end of a block in which the end of the last paragraph is searched for first."""
BLOCK_BYTES = 1 << 20
"""Approximate bytes of a block; 4 MiB is not faster, and takes 10 MiB more memory per thread."""

ADVICE = '; unit="line" cuts at line ends, which no token crosses then'
"""What to do about a file without a place to cut."""


@dataclass(frozen=True, slots=True)
class Block:
    """Whole documents. With the unit "line", each line is one; with "item", `ends` (packed int64) has their ends.

    `data` is UTF-8, validated only for the unit "item"; `name` and `offset` (in bytes after decompression) say where it
    comes from.
    """

    data: bytes
    unit: str
    name: str
    offset: int = 0
    ends: bytes | None = None

    def document_ends(self) -> list[int]:
        """Return where each document ends."""
        return [int(end) for end in self._ends()]

    def packed_ends(self) -> bytes | None:
        """Return the ends as packed int64; None if each line is a document, because the core finds line ends itself."""
        return self.ends if self.unit == "line" or self.ends is not None else self._ends().tobytes()

    def texts(self) -> list[bytes]:
        """Return each document."""
        return documents_of(self.data, self.packed_ends())

    def _ends(self) -> NDArray[np.int64]:
        if self.ends is not None:
            return np.frombuffer(self.ends, dtype=np.int64)
        if self.unit == "line":
            ends = np.flatnonzero(np.frombuffer(self.data, dtype=np.uint8) == ord("\n")) + 1
        else:
            ends = np.frombuffer(paragraph_ends(self.data) if self.unit == "paragraph" else b"", dtype=np.int64)
        return ends if len(ends) and ends[-1] == len(self.data) else np.append(ends, len(self.data))

    def validated(self, errors: str) -> Block:
        """Return the block without invalid UTF-8, or raise CorpusError, depending on `errors`."""
        try:
            text = self.data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise not_utf8(self.name, self.offset + error.start, self.data[error.start]) from None
        return replace(self, data=text.encode())

    def documents(self, errors: str) -> Iterator[str]:
        """Yield each document as str; for invalid UTF-8 see `validated`."""
        block, start = self.validated(errors), 0
        for end in block.document_ends():
            if block.data or block.unit == "item":
                yield block.data[start:end].decode()
            start = end


class Corpus:
    """Documents of files or of an iterable. Iterating yields blocks; stdin and iterators can be read only once.

    `source` is a path, a list or tuple of paths, or texts: an iterable of str or UTF-8 bytes, each of which is a
    document, of lists of them, of mappings whose `field` is one, or a data frame or Dataset with a column of that name.
    A path may be a glob, a folder (all files of `paths.TEXTS` in it, at any depth), a URL of these that fsspec reads
    (extra "data"), or "-", stdin. A .jsonl or .ndjson file has one JSON object a line, whose `field` is a document;
    .gz, .bz2, .xz and .zst (extra "data") are decompressed. With `tables`, .json files are arrays of texts or records,
    and .csv, .tsv, .parquet and .arrow files have a column `field` (extra "tables"). In other files, a document
    is a "line" with its end, a "paragraph" with the blank lines after it, or the whole "file", which is in memory as a
    whole unless `blocks` is called with a cut. A byte-order mark at the start of a file is dropped, with a warning;
    line ends stay.
    """

    def __init__(
        self,
        source: object,
        *,
        unit: Unit = "line",
        field: str = "text",
        errors: InputErrors = "strict",
        tables: bool = True,
    ) -> None:
        if unit not in UNITS:
            raise OptionError(f"unit is {unit!r}; it must be one of {', '.join(UNITS)}")
        if errors not in INPUT_ERRORS:
            raise OptionError(f"input_errors is {errors!r}; it must be one of {', '.join(INPUT_ERRORS)}")
        self.unit, self.field, self.errors = unit, field, errors
        self._tables = tables
        self.block_bytes: int | None = None
        """Approximate bytes of a block; None is BLOCK_BYTES."""
        self.done = 0
        """Bytes of the files read so far."""
        self.total = 0
        """Bytes of all files, 0 if unknown."""
        self._paths: list[str] | None = None
        self._texts: Iterable[object] = ()
        if isinstance(source, (str, bytes, os.PathLike)):
            self._paths = files_of([source])
        elif isinstance(source, (list, tuple)) and not (source and isinstance(source[0], Mapping)):
            self._paths = files_of(source)
        elif (column := records.of_frame(ordered(source, "source", tables=True), field)) is not None:
            self._texts = column
        else:
            self._texts = cast("Iterable[object]", source)
        if self._paths is not None:
            sizes = [size_of(path) for path in self._paths]
            self.total = sum(sizes) if all(sizes) else 0

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()

    def blocks(self, cut: Cut | None = None) -> Iterator[Block]:
        """Yield the blocks; with a `cut`, files of the unit "file" come in blocks that end where it allows: see `Cut`.

        So a large file is never in memory as a whole.
        """
        if self._paths is None:
            texts = _flat(self._texts)
            first = list(itertools.islice(texts, LOOKED_AT))
            records.check_not_paths(first)
            return self._items(enumerate(itertools.chain(first, texts), 1), "the text", " number")
        return itertools.chain.from_iterable(self._file(path, cut) for path in self._paths)

    def _file(self, path: str, cut: Cut | None) -> Iterator[Block]:
        name = input_name(path)
        before = self.done
        is_table = self._tables and suffix_of(path) in TABLES
        with opened(path, name, binary=is_table) as (stream, position, skipped):
            if is_table:
                rows = records.of_table(stream, path, name, self.field, self.errors)
                yield from self._items(rows, name, ", record")
                return

            def chunks() -> Iterator[bytes]:
                while chunk := read_block(stream, name, self._block):
                    self.done = before + position()
                    yield chunk

            if holds_records(path):
                for texts, ends in json_lines.texts_of(chunks(), name, self.field, self.errors, self._utf8):
                    yield Block(texts, "item", name, 0, ends.tobytes())
            elif self.unit == "file" and cut is not None:
                for data, offset in self._parts(stream, name, cut, skipped):
                    self.done = before + position()
                    yield Block(data, "file", name, offset)
            else:
                for data, offset in _cut(chunks(), self.unit, self._block, skipped):
                    yield Block(data, self.unit, name, offset)

    def _parts(self, stream: BinaryIO, name: str, cut: Cut, skipped: int) -> Iterator[tuple[bytes, int]]:
        """Yield the parts of a text file, and their offsets; cuts are looked for in valid UTF-8."""
        source = cast(Source, stream) if self.errors == "strict" else CleanedStream(stream, self.errors)
        blocks, buffer = StreamBlocks(source, name, cut, ADVICE), bytearray(self._block)
        while (block := blocks.next(buffer)) is not None:
            _, offset, n, _ = block
            yield bytes(memoryview(buffer)[:n]), offset + skipped

    def _items(self, texts: Iterable[tuple[int, object]], name: str, place: str) -> Iterator[Block]:
        """Pack numbered texts into blocks; messages name a text by `name`, `place` and its number."""
        parts: list[bytes] = []
        size = 0
        for number, text in texts:
            utf8 = self._utf8(text, f"{name}{place} {number}")
            parts.append(utf8)
            size += len(utf8) + 8  # an empty text takes memory too
            if size >= self._block:
                yield _packed(parts, name)
                parts, size = [], 0
        if parts:
            yield _packed(parts, name)

    @property
    def _block(self) -> int:
        return self.block_bytes or BLOCK_BYTES

    def _utf8(self, text: object, name: str) -> bytes:
        try:
            if isinstance(text, str):
                return text.encode()
            if isinstance(text, (bytes, bytearray, memoryview)):
                return bytes(text).decode("utf-8", self.errors).encode()
            if isinstance(text, Mapping):
                return self._utf8(records.text_of(text, self.field, name), name)
        except UnicodeEncodeError as error:
            if self.errors == "strict":
                raise CorpusError(
                    f"{name}: character {error.start} is a lone surrogate, which UTF-8 lacks{TO_GO_ON}"
                ) from None
            kept = "\ufffd" if self.errors == "replace" else ""
            return re.sub("[\ud800-\udfff]", kept, cast(str, text)).encode()
        except UnicodeDecodeError as error:
            raise CorpusError(f"{name}: byte {error.start} is not UTF-8{TO_GO_ON}") from None
        raise TypeError(f"{name} is {type(text).__name__}; it must be str")


def _flat(texts: Iterable[object]) -> Iterator[object]:
    """Yield texts; those of a list or tuple one by one."""
    for text in texts:
        if isinstance(text, (list, tuple)):
            yield from text
        else:
            yield text


def documents(
    source: object, *, unit: Unit = "line", field: str = "text", errors: InputErrors = "strict"
) -> Iterator[str]:
    r"""Yield the documents of a corpus as str; see `Corpus` for what `source` may be.

    >>> list(documents(iter(["one", "two\nlines"])))
    ['one', 'two\nlines']
    """
    for block in Corpus(source, unit=unit, field=field, errors=errors):
        yield from block.documents(errors)


def read_block(stream: BinaryIO, name: str, n: int | None = None) -> bytes:
    """Return up to `n` (or BLOCK_BYTES) next bytes of a file, none at its end; CorpusError if it cannot be read."""
    with read_errors(name):
        return stream.read(n or BLOCK_BYTES)


def _cut(chunks: Iterable[bytes], unit: str, block: int, offset: int) -> Iterator[tuple[bytes, int]]:
    """Join chunks to blocks of whole documents; yield each with its offset, that of the first being `offset`."""
    parts: list[bytes] = []
    size = 0
    enough = sys.maxsize if unit == "file" else block
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size < enough:
            continue
        data, rest = _cut_lines(parts) if unit == "line" else _cut_paragraphs(parts)
        if data:
            yield data, offset
        offset += len(data)
        parts, size = rest, size - len(data)
        # A document longer than a block is searched again only when its size has doubled, so the time is linear.
        enough = block if data else 2 * size
    if size:
        yield b"".join(parts), offset


def _cut_lines(parts: list[bytes]) -> tuple[bytes, list[bytes]]:
    """Return the bytes up to the last line end, and the bytes after it."""
    for k in range(len(parts) - 1, -1, -1):
        end = parts[k].rfind(b"\n") + 1
        if end == len(parts[k]):
            return b"".join(parts[: k + 1]), parts[k + 1 :]
        if end:
            return b"".join((*parts[:k], memoryview(parts[k])[:end])), [parts[k][end:], *parts[k + 1 :]]
    return b"", parts


def _cut_paragraphs(parts: list[bytes]) -> tuple[bytes, list[bytes]]:
    """Return the bytes up to the last certain end of a paragraph, and the bytes after it."""
    size = LOOKED_BACK
    while True:  # backwards from the end, usually not far
        last = parts[-1]
        ends = np.frombuffer(paragraph_ends(last[-size:]), dtype=np.int64)
        if len(ends):
            end = max(len(last) - size, 0) + int(ends[-1])
            return b"".join((*parts[:-1], memoryview(last)[:end])), [last[end:]]
        if size >= len(last):
            if len(parts) == 1:
                return b"", parts
            parts = [b"".join(parts)]
        size *= 16


def _packed(parts: list[bytes], name: str) -> Block:
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return Block(b"".join(parts), "item", name, 0, ends.tobytes())
