"""Encodes a text file while it is read, in blocks that end at split points, with threads and in constant memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tokkit._core.encode.blocks import BlockEncoder
from tokkit.corpus import paths, readers
from tokkit.corpus.stream_blocks import BLOCK_BYTES, CleanedStream, SeenStream, Source, StreamBlocks
from tokkit.corpus.turns import Turns
from tokkit.corpus.utf8 import not_utf8
from tokkit.engine.engine import Engine
from tokkit.engine.special_tokens import Special, refusal
from tokkit.engine.whole_texts import WholeEncoder
from tokkit.errors import CorpusError, OptionError, VocabError
from tokkit.threads import CHARACTERS_A_THREAD, run_threads

AHEAD = 4
"""Maximum number of encoded blocks per thread that wait until earlier blocks are written."""


class IdSink(Protocol):
    """Takes the ids of files, such as an `IdWriter`; `documents` counts the files that are complete."""

    documents: int

    def reads(self, path: str, /) -> None:
        """Raise SameFileError if this file would be replaced."""

    def write(self, data: Any, /) -> None:
        """Take packed ids."""


class FileEncoder:
    """Encodes files with an engine; `special` is as in `Tokenizer.encode`, `errors` as in `Corpus`.

    Its options are public, because the encoding of shards uses the same ones.
    """

    def __init__(self, engine: Engine, *, special: Special, threads: int, errors: str, narrow: bool) -> None:
        if errors not in readers.INPUT_ERRORS:
            raise OptionError(f"input_errors is {errors!r}; it must be one of {', '.join(readers.INPUT_ERRORS)}")
        self.engine, self.special, self.threads, self.errors, self.narrow = engine, special, threads, errors, narrow

    def encode(
        self,
        path: str,
        writer: IdSink,
        tick: Callable[[int], object] | None = None,
        *,
        see: Callable[[memoryview], object] | None = None,
    ) -> int:
        """Write the ids of a file; return its bytes of text. `tick` is called with the bytes of the file read so far.

        "-" is standard input; .gz, .bz2, .xz and .zst are decompressed. SameFileError if the writer would replace it.
        A byte-order mark at the start of the file is dropped, with a warning. `see` is called with the bytes of the
        text in order, by one thread at a time.
        """
        name = paths.input_name(path)
        if paths.holds_records(path):
            raise CorpusError(f"{name} holds records, not text: read it with tokkit encode, or batch by batch")
        writer.reads(path)
        with paths.opened(path, name) as (stream, position, skipped):
            source = cast(Source, stream) if self.errors == "strict" else CleanedStream(stream, self.errors)
            source = source if see is None else SeenStream(source, see)
            blocks = StreamBlocks(source, name, self._cut)
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
                            failed[number] = self._explained(error, name, skipped + offset, buffer)
                            turns.stop()
                            return
                        if not turns.put(number, ids):
                            return

            run_threads(work, threads, turns.stop)
            if failed:  # blocks start in order, and started blocks are finished, so the first error is always the same
                raise failed[min(failed)]
            writer.documents += 1
            return blocks.offset

    def _cut(self, buffer: bytearray, n: int, searched: int) -> int:
        return self.engine.block_cut(buffer, n, searched, self.special)

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
                return not_utf8(name, offset + at, buffer[at])
            case "special token", int(at), int(id_):
                return refusal(f"{name} holds", self.engine.special_name(id_) or "", offset + at)
        return self.engine.unusable(error) if isinstance(error, OverflowError) else error
