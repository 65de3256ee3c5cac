"""Encodes a text file while it is read, in blocks that end at split points, with threads and in constant memory."""

from __future__ import annotations

import codecs
import contextlib
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.encode import BlockEncoder
from tokkit.corpus import paths, readers
from tokkit.corpus.turns import Turns
from tokkit.engines.engine import Engine, WholeEncoder
from tokkit.engines.special_tokens import Special
from tokkit.errors import CorpusError, OptionError, SpecialTokenError, VocabError
from tokkit.threads import CHARACTERS_A_THREAD, run_threads

BLOCK_BYTES = 1 << 20
"""Bytes that a thread reads and encodes at a time: they fit in the L2 cache, and ids are written soon (bench_encode,
file). The file is read, not mapped: this costs little, and if the file is truncated meanwhile, it is only shorter,
while a mapping would crash the process.
"""
AHEAD = 4
"""Maximum number of encoded blocks per thread that wait until earlier blocks are written."""


class _Source(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...


class _Sink(Protocol):
    documents: int

    def reads(self, path: str, /) -> None: ...

    def write(self, data: Any, /) -> None: ...


class _WithoutMark:
    """A stream that skips a byte-order mark at the start of another stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._first: bytes | None = None

    def read(self, n: int) -> bytes:
        buffer = bytearray(n)
        return bytes(memoryview(buffer)[: self.readinto(memoryview(buffer))])

    def readinto(self, buffer: memoryview) -> int:
        if self._first is None:
            first = b""
            while len(first) < len(codecs.BOM_UTF8) and (more := self._stream.read(len(codecs.BOM_UTF8) - len(first))):
                first += more
            self._first = first.removeprefix(codecs.BOM_UTF8)
        if not self._first:
            return cast(_Source, self._stream).readinto(buffer) or 0
        n = min(len(buffer), len(self._first))
        buffer[:n] = self._first[:n]
        self._first = self._first[n:]
        return n


class _Cleaned:
    """A stream of valid UTF-8 from another stream: invalid bytes are replaced or left out."""

    def __init__(self, stream: BinaryIO, errors: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._rest = b""
        self._ended = False

    def readinto(self, buffer: memoryview) -> int:
        while not self._rest and not self._ended:
            raw = self._stream.read(BLOCK_BYTES)
            self._ended = not raw
            self._rest = self._decoder.decode(raw, final=self._ended).encode()
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


class _Blocks:
    """Cuts a stream, which is one text, into blocks where the engine allows it."""

    def __init__(self, source: _Source, name: str, engine: Engine, special: Special) -> None:
        self._source, self._name, self._engine, self._special = source, name, engine, special
        self._lock = threading.Lock()
        self._carried = b""
        self._ended = False
        self.number = 0
        self.offset = 0

    def next(self, buffer: bytearray) -> tuple[int, int, int, bool] | None:
        """Put the next block into the buffer, which may grow; None at the end of the text.

        Returns (number of the block, its offset, its length in bytes, whether text follows).
        """
        with self._lock:
            n = len(self._carried)
            buffer[:n] = self._carried
            end = searched = 0
            while not end and not self._ended:
                if n == len(buffer):  # there is no place to cut: double the buffer
                    if n > limits.current().held_bytes:
                        what = f"{self._name}: {n:,} bytes from byte {self.offset} on have no place to cut"
                        raise limits.exceeded("held_bytes", what, CorpusError)
                    buffer.extend(bytes(n))
                n = self._fill(buffer, n)
                if not self._ended:
                    end = self._engine.last_cut(buffer, n, self._special, searched)
                    end = end or self._engine.open_cut(buffer, n, self._special)
                    searched = n
            end = end or n
            self._carried = bytes(memoryview(buffer)[end:n])
            if not end:
                return None
            found = self.number, self.offset, end, bool(self._carried) or not self._ended
            self.number += 1
            self.offset += end
            return found

    def _fill(self, buffer: bytearray, n: int) -> int:
        with memoryview(buffer) as view:
            while n < len(buffer):
                with readers.read_errors(self._name):
                    got = self._source.readinto(view[n:])
                if not got:
                    self._ended = True
                    return n
                n += got
        return n


class FileEncoder:
    """Encodes files with an engine; `special` is as in `Tokenizer.encode`, `errors` as in `Corpus`.

    Its options are public, because the encoding of shards uses the same ones.
    """

    def __init__(self, engine: Engine, *, special: Special, threads: int, errors: str, narrow: bool) -> None:
        if errors not in readers.INPUT_ERRORS:
            raise OptionError(f"input_errors is {errors!r}; it must be one of {', '.join(readers.INPUT_ERRORS)}")
        self.engine, self.special, self.threads, self.errors, self.narrow = engine, special, threads, errors, narrow

    def encode(
        self, path: str, writer: _Sink, tick: Callable[[int], object] | None = None, *, drops_mark: bool = False
    ) -> int:
        """Write the ids of a file; return its bytes of text. `tick` is called with the bytes of the file read so far.

        "-" is standard input; .gz, .bz2, .xz and .zst are decompressed. SameFileError if the writer would replace it.
        With `drops_mark`, a byte-order mark at the start of the file is left out; else it is part of the text.
        """
        name = paths.input_name(path)
        if paths.holds_records(path):
            raise CorpusError(f"{name} holds records, not text: read it with tokkit encode, or batch by batch")
        writer.reads(path)
        with paths.opened(path, name) as (stream, position):
            text = cast(BinaryIO, _WithoutMark(stream)) if drops_mark else stream
            source = cast(_Source, text) if self.errors == "strict" else _Cleaned(text, self.errors)
            blocks = _Blocks(source, name, self.engine, self.special)
            size = paths.size_of(path)
            threads = min(self.threads, 1 + size // CHARACTERS_A_THREAD) if size else self.threads

            def write(data: Any) -> None:
                writer.write(data)
                if tick is not None:
                    tick(position())

            turns = Turns(write, AHEAD * threads, keep=bytes)
            failed: dict[int, Exception] = {}

            def work() -> None:
                buffer = bytearray(BLOCK_BYTES)
                with contextlib.closing(self.engine.block_encoder(self.special, narrow=self.narrow)) as encoder:
                    while not failed and (block := blocks.next(buffer)) is not None:
                        number, offset, n, goes_on = block
                        try:
                            ids = self._block(encoder, buffer, n, continues=offset > 0, goes_on=goes_on)
                        except (ValueError, OverflowError, VocabError) as error:
                            failed[number] = self._explained(error, name, offset, buffer)
                            turns.stop()
                            return
                        if not turns.put(number, ids):
                            return

            run_threads(work, threads, turns.stop)
            if failed:  # blocks start in order, and started blocks are finished, so the first error is always the same
                raise failed[min(failed)]
            writer.documents += 1
            return blocks.offset

    def _block(
        self, encoder: BlockEncoder | WholeEncoder, buffer: bytearray, n: int, *, continues: bool, goes_on: bool
    ) -> BlockEncoder | NDArray[Any]:
        """Return the ids of a block: where the core has none, by the components, or their error."""
        try:
            return encoder.encode(buffer, n, continues, goes_on)
        except LookupError:
            utf8 = bytes(memoryview(buffer)[:n])
            ids = self.engine.encode_part(utf8, self.special, continues=continues, goes_on=goes_on)
            return np.array(ids, dtype=np.uint16 if self.narrow else np.uint32)

    def _explained(self, error: Exception, name: str, offset: int, buffer: bytearray) -> Exception:
        """Return the error of a block with its position in the file."""
        if isinstance(error, VocabError):
            return VocabError(f"{name}, in the block from byte {offset} on: {error}")
        match error.args:
            case "not UTF-8", int(at):
                return CorpusError(
                    f"{name}: byte {offset + at} (0x{buffer[at]:02x}) is not UTF-8; "
                    'use input_errors="replace" or "ignore" to go on'
                )
            case "special token", int(at), int(id_):
                return SpecialTokenError(
                    f"{name} holds the special token {self.engine.special_name(id_)!r} at byte {offset + at}; "
                    'pass special="text" to read it as text, or "all" or a set to let it be a token'
                )
        return self.engine.unusable(error) if isinstance(error, OverflowError) else error
