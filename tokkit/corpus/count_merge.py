"""Merges sorted words with counts, from files and from tables, and writes them to files."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from tokkit._core.train.count_runs import CountMerge, SortedWords
from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus.counts_file import BLOCK_BYTES, CountsReader, CountsWriter, Header, Totals, compressed
from tokkit.errors import CorpusError
from tokkit.files import temporary_files

MAX_RUNS = 64
"""Maximum number of files that are merged at once; more files are first merged in groups of this size."""
AHEAD = 2
"""Maximum number of blocks per thread that wait to be compressed and written."""


class Blocks(Protocol):
    """Blocks of sorted words, each with its number of words, and the sum of counts after all were read."""

    @property
    def total(self) -> int:
        """The sum of the counts of the blocks so far."""

    def __iter__(self) -> Iterator[tuple[bytes, int]]: ...


class Run(Protocol):
    """Sorted words in blocks, as in a file of counts."""

    def blocks(self) -> Iterator[bytes]:
        """Yield the blocks of words."""

    def out_of_order(self) -> Exception:
        """Return the error for an invalid block."""


class OfTable:
    """The words of a table; the run closes the table."""

    def __init__(self, table: WordCounts) -> None:
        self._words = SortedWords(table)

    @property
    def total(self) -> int:
        """The sum of the counts of the blocks so far."""
        return self._words.total

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        while (block := self._words.block(BLOCK_BYTES)) is not None:
            yield block


class OfFiles:
    """The words of several files with the sums of their counts; words with less than `min_count` are left out.

    `tick` is called with the number of words read so far. With `factors`, one for each file, and `divisor`, sums are
    weighted and rounded once to the nearest integer, halves up.
    """

    def __init__(
        self,
        files: Sequence[Run],
        min_count: int = 1,
        tick: Callable[[int], object] | None = None,
        *,
        factors: Sequence[int] | None = None,
        divisor: int = 1,
    ) -> None:
        self._files, self._min_count, self._tick = files, min_count, tick
        self._merge = CountMerge(len(files), min_count, factors, divisor)

    @property
    def total(self) -> int:
        """The sum of the counts of the blocks so far."""
        return self._merge.total

    @property
    def dropped(self) -> tuple[int, int]:
        """The words that were left out, and the sum of their counts."""
        return self._merge.dropped

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        merge = self._merge
        readers = [file.blocks() for file in self._files]
        n_read = 0
        while True:
            try:
                wants = merge.run(BLOCK_BYTES)
            except ValueError as error:
                raise self._files[error.args[0]].out_of_order() from None
            except OverflowError:
                raise CorpusError("the counts are too large to add: a sum exceeds 2**63") from None
            if wants >= 0:
                block = next(readers[wants], None)
                merge.feed(block)
                n_read += len(block or b"")
                if self._tick is not None:
                    self._tick(n_read)
            elif (made := merge.block()) is not None:
                yield made
            else:
                return


def write(path: str, header: Header, blocks: Blocks, threads: int = 1, target: str | None = None) -> Totals:
    """Write a new file of counts; up to `threads` threads compress it. The error of a full disk names `target`."""
    try:
        with open(path, "xb") as file:
            writer = CountsWriter(file, header)
            if threads < 2:
                for block, n_words in blocks:
                    writer.put(compressed(block, n_words), n_words)
            else:
                _compress_and_put(writer, blocks, threads)
            return writer.finish(blocks.total)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, target or path) from None


def _compress_and_put(writer: CountsWriter, blocks: Blocks, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[Future[bytes], int]] = deque()
        for block, n_words in blocks:
            waiting.append((pool.submit(compressed, block, n_words), n_words))
            if len(waiting) > AHEAD * threads:
                made, n = waiting.popleft()
                writer.put(made.result(), n)
        for made, n in waiting:
            writer.put(made.result(), n)


class Spills:
    """Temporary files of tables next to a file that is being made; the `with` block removes them."""

    def __init__(self, target: str, header: Header, threads: int) -> None:
        self._target, self._header, self._threads = target, header, threads
        self.files: list[CountsReader] = []

    def __enter__(self) -> Spills:
        temporary_files.clear(self._target)
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files:
            _remove(file.path)

    def add(self, table: WordCounts) -> None:
        """Write a table and close it; threads may call this at the same time."""
        self.files.append(self._written(OfTable(table), 1))

    def _written(self, blocks: Blocks, threads: int) -> CountsReader:
        path = temporary_files.new(self._target, self._target)
        try:
            write(path, self._header, blocks, threads, self._target)
            return CountsReader(path)
        except BaseException:
            _remove(path)
            raise

    def reduced(self, files: Sequence[CountsReader]) -> list[CountsReader]:
        """Return at most MAX_RUNS files with all the counts, merging some if there are more."""
        left = list(files)
        while len(left) > MAX_RUNS:
            group, left = left[:MAX_RUNS], left[MAX_RUNS:]
            made = self._written(OfFiles(group), self._threads)
            self.files.append(made)
            left.append(made)
            for file in group:
                if file in self.files:
                    self.files.remove(file)
                    _remove(file.path)
        return left


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
