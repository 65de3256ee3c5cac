"""Counts the words of a text within a limit of memory: full tables are sorted and written to files."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading

from tokkit._core.train.count_runs import count_block
from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus.count_merge import OfFiles, Spills
from tokkit.corpus.counts_file import CountsReader, Header
from tokkit.errors import CorpusError
from tokkit.trainers.count_files import MIN_MEMORY
from tokkit.trainers.counts import MAX_TOTAL, WORD_MEMORY, Counter, Readable, Reporter, count_tables, one_table
from tokkit.trainers.options import Training


def bounded_words(
    corpus: Readable, counter: Counter, training: Training, max_memory: int, *, threads: int, report: Reporter
) -> WordCounts:
    """Return the table of `count_words`, using about `max_memory` bytes, but at least MIN_MEMORY.

    Full tables are sorted and written to a new folder in the folder for temporary files (TMPDIR), which is removed at
    the end. If the table of all words exceeds the limit, it is memory-mapped. Raises CorpusError as `count_words` does,
    and OSError if the disk has no room.
    """
    share = max(max_memory, MIN_MEMORY) // threads
    with _Spilled(Header(training.counting() or {}, "file"), threads) as spilled:
        tables = count_tables(corpus, counter, threads=threads, report=report, max_bytes=share, spill=spilled.add)
        # Tables are added to one of them while all exist, so together they must leave room for their sum.
        if spilled.spills is None and (threads == 1 or sum(table.held_bytes for table in tables) <= share):
            table = one_table(tables)
        else:
            while tables:
                spilled.add(tables.pop())
            table = _joined(spilled.files(), training)
    if not len(table):
        raise CorpusError("the corpus has no text to train on")
    return table


class _Spilled:
    """Tables in a private temporary folder, which is made for the first table and removed at the end."""

    def __init__(self, header: Header, threads: int) -> None:
        self._header, self._threads = header, threads
        self._exits, self._lock = contextlib.ExitStack(), threading.Lock()
        self.spills: Spills | None = None

    def __enter__(self) -> _Spilled:
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def add(self, table: WordCounts) -> None:
        """Write a table and close it; threads may call this at the same time."""
        with self._lock:
            if self.spills is None:
                folder = self._exits.enter_context(tempfile.TemporaryDirectory(prefix="tokkit-counts-"))
                target = os.path.join(folder, "words")
                self.spills = self._exits.enter_context(Spills(target, self._header, self._threads))
        self.spills.add(table)

    def files(self) -> list[CountsReader]:
        """Return files with the counts of all tables, few enough to be merged at once."""
        return [] if self.spills is None else self.spills.reduced(self.spills.files)


def _joined(files: list[CountsReader], training: Training) -> WordCounts:
    """Return a table of all words of the files, memory-mapped if the training requests it."""
    folder_for = getattr(training, "folder", None)
    needed = WORD_MEMORY * sum(file.totals.words for file in files)
    table, total = WordCounts(0, None if folder_for is None else folder_for(needed)), 0
    for block, _ in OfFiles(files):
        total = count_block(table, block, training.as_text, total, MAX_TOTAL)
    return table
