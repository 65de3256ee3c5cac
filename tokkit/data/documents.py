"""Encodes the documents of a shard with several threads, which read, encode and write blocks in turn."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.corpus import paths, readers
from tokkit.corpus.encode_file import AHEAD
from tokkit.corpus.readers import Block, Corpus
from tokkit.corpus.turns import Turns
from tokkit.data.writers import Chunk
from tokkit.errors import SpecialTokenError
from tokkit.threads import CHARACTERS_A_THREAD, run_threads

if TYPE_CHECKING:
    from tokkit.corpus.encode_file import FileEncoder
    from tokkit.data.rearranging import Rearranged
    from tokkit.data.writers import Writer

MAX_BLOCKS = 4
"""Maximum size of a block of a large shard, in BLOCK_BYTES. Reading, encoding and writing evict one another's data from
the caches, and do so less often with larger blocks (bench_shards). A smaller shard has BLOCKS_A_THREAD per thread."""
BLOCKS_A_THREAD = 8
LARGE_BYTES = 16 * CHARACTERS_A_THREAD
"""A document of at least this size in bytes is encoded by all threads, one document at a time."""


class DocumentEncoder:
    """Encodes the documents of one file, with ids around each, and counts them.

    Threads take blocks of 1 to 4 MiB in turn and write their ids in order; a thread waits only while another one reads
    or writes (bench_shards). A text file that is one document is read in parts, if the tokenizer allows cuts.
    """

    def __init__(
        self, encoder: FileEncoder, path: str, corpus: Corpus, dtype: str, bos: int | None, eos: int | None
    ) -> None:
        self._encoder, self._path, self._corpus = encoder, path, corpus
        self._engine, self._special, self._threads = encoder.engine, encoder.special, encoder.threads
        self._dtype, self._bos, self._eos = dtype, bos, eos
        self._large = threading.Lock()
        self.documents = self.n_bytes = 0

    def write(self, writer: Writer | Rearranged) -> None:
        """Write the ids of all documents; the first error in file order is raised."""
        if self._corpus.unit == "file" and writer.takes_parts and self._is_streamed():
            self._write_stream(writer)
            return
        turns = Turns(lambda done: self._put(writer, *done), AHEAD * self._threads)
        blocks = enumerate(self._corpus)
        reading = threading.Lock()
        failed: dict[int, Exception] = {}
        taken = 0

        def work() -> None:
            nonlocal taken
            while not failed:
                with reading:
                    try:
                        item = next(blocks, None)
                    except Exception as error:
                        failed[taken] = error
                        turns.stop()
                        return
                    taken += 1
                if item is None:
                    return
                number, block = item
                try:
                    chunk = self._encoded(block)
                except Exception as error:
                    failed[number] = error
                    turns.stop()
                    return
                if not turns.put(number, (chunk, len(block.data))):
                    return

        size = self._corpus.total
        share = size // (BLOCKS_A_THREAD * self._threads)
        self._corpus.block_bytes = max(min(share, MAX_BLOCKS * readers.BLOCK_BYTES), readers.BLOCK_BYTES)
        threads = min(self._threads, 1 + size // CHARACTERS_A_THREAD) if size else self._threads
        # Components in Python are called by one thread at a time: they may not be thread-safe, and would not be faster.
        run_threads(work, threads if self._engine.runs_in_core(self._special) else 1, turns.stop)
        if failed:  # blocks are started in order and finished once started, so the first error is always the same
            raise failed[min(failed)]

    def _put(self, writer: Writer | Rearranged, chunk: Chunk, n_bytes: int) -> None:
        writer.write(chunk)
        self.documents += len(chunk.ends)
        self.n_bytes += n_bytes

    def _encoded(self, block: Block) -> Chunk:
        if self._corpus.errors != "strict" and block.unit != "item":
            block = block.validated(self._corpus.errors)
        if len(block.data) >= LARGE_BYTES:
            with self._large:
                return self._ids(block, self._threads)
        return self._ids(block, 1)

    def _ids(self, block: Block, threads: int) -> Chunk:
        try:
            ids, offsets = self._engine.encode_documents(
                block.data, block.packed_ends(), self._special, threads,
                narrow=self._encoder.narrow, before=self._bos, after=self._eos,
                valid=block.unit == "item" or self._corpus.errors != "strict",
            )  # fmt: skip
        except SpecialTokenError as error:
            raise SpecialTokenError(f"{block.name}: {error}") from None
        except ValueError:
            block.validated("strict")  # names the position
            raise
        return Chunk(ids.astype(self._dtype, copy=False), offsets[1:])

    # ---- a text file that is one document

    def _is_streamed(self) -> bool:
        plain = not paths.holds_records(self._path) and paths.suffix_of(self._path) not in paths.TABLES
        return plain and not self._engine.whole_reason

    def _write_stream(self, writer: Writer | Rearranged) -> None:
        stream = _Stream(writer, self._dtype, self._bos)
        self.n_bytes = self._encoder.encode(self._path, stream)
        if self.n_bytes:  # an empty file has no document
            self.documents = 1
            ids = np.array([] if self._eos is None else [self._eos], dtype=self._dtype)
            writer.write(Chunk(ids, np.array([len(ids)], dtype=np.int64)))


class _Stream:
    """Takes the ids of one document in blocks."""

    def __init__(self, writer: Writer | Rearranged, dtype: str, bos: int | None) -> None:
        self._writer, self._dtype, self._bos = writer, dtype, bos
        self.documents = 0

    def reads(self, path: str) -> None:
        """Do nothing: invalid UTF-8 is not replaced here."""

    def write(self, data: Any) -> None:
        """Write packed ids."""
        read = np.frombuffer(data, dtype="uint16" if self._dtype == "uint16" else "uint32")
        ids = read.astype(self._dtype, copy=False)
        if self._bos is not None:
            ids = np.concatenate([np.array([self._bos], dtype=self._dtype), ids])
            self._bos = None
        self._writer.write(Chunk(ids, np.zeros(0, dtype=np.int64)))
