"""Counts the words of a corpus, from which every trainer starts."""

from __future__ import annotations

import contextvars
import operator
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokkit._core.align import AlignedText
from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus.readers import Block
from tokkit.corpus.stream_blocks import Cut
from tokkit.definition import Normalizer, Pretokenizer
from tokkit.errors import CorpusError
from tokkit.pretokenizers import patterns, regex_split
from tokkit.pretokenizers.choice import choose
from tokkit.trainers import word_cuts

if TYPE_CHECKING:
    from tokkit.progress import Progress as ProgressBar

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Counter:
    """Counts words: call `add(table, block, errors)`, then once, in the same thread, `finish(table)`.

    `errors` is the policy for invalid UTF-8. A word of over `longest` bytes is counted in parts; 0 is no limit. `cut`
    finds where a file's text may be cut without changing its words, as in `Corpus.blocks`; without it, a document is
    counted at once.
    """

    add: Callable[[WordCounts, Block, str], None]
    finish: Callable[[WordCounts], None] | None = None
    longest: int = 0
    cut: Cut | None = None


MAX_TOTAL = 1 << 62
"""Maximum sum of counts multiplied by lengths, because pairs are counted in int64."""


MAX_WORD_BYTES = 1 << 16
"""Maximum bytes of a word that merging models count as a whole.

Without it, a long line without spaces would become a token of half its length, and training would store each of its
positions.
"""


WORD_MEMORY = 48
"""Bytes of memory of a distinct word in a table, besides its text and including hash slots."""


MAX_RAW_BYTES = 16 << 20
"""Maximum bytes of distinct words between white space that are collected before the components process them."""


class Reporter:
    """Calls `progress(stage, done, total)` at each stage's start and end, and about ten times a second between."""

    SECONDS = 0.1

    def __init__(self, progress: Progress | bool | None) -> None:
        """Report to a function; True shows a bar on stderr, False and None report nothing."""
        self._bar: ProgressBar | None = None
        if progress is True:
            from tokkit.progress import Progress as ProgressBar

            self._bar = progress = ProgressBar("bar")
        if progress and not callable(progress):
            raise TypeError(f"progress is {progress!r}; it must be a function of (stage, done, total), True or None")
        self._progress = progress or None
        self._next = 0.0

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.__exit__()

    def __call__(self, stage: str, done: int, total: int, *, always: bool = False) -> None:
        """Report, at most about ten times a second; `total` is 0 if unknown."""
        if self._progress is None or not (always or time.monotonic() >= self._next):
            return
        self._progress(stage, done, total)
        self._next = time.monotonic() + self.SECONDS


class Readable(Protocol):
    """A source of blocks, such as a corpus, and how far it has been read."""

    @property
    def errors(self) -> str:
        """The policy for invalid UTF-8."""

    @property
    def done(self) -> int:
        """Bytes of the files read so far."""

    @property
    def total(self) -> int:
        """Bytes of all files, 0 if unknown."""

    def blocks(self, cut: Cut | None = None) -> Iterator[Block]:
        """Yield the blocks, which may end where `cut` allows it: see `Corpus.blocks`."""


class _Shared:
    """An iterator from which threads take items in order, until it ends or one of them fails."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._lock = threading.Lock()
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[Block]:
        while True:
            with self._lock:
                block = next(self._blocks, None) if self.error is None else None
            if block is None:
                return
            yield block


def count_words(corpus: Readable, counter: Counter, *, threads: int, report: Reporter) -> WordCounts:
    """Count the words that `counter` finds in the documents.

    Each thread counts into its own table, without the GIL where possible; the sums do not depend on the number of
    threads. Raises CorpusError for text that cannot be read, or a corpus without text.
    """
    table = one_table(count_tables(corpus, counter, threads=threads, report=report))
    if not len(table):
        raise CorpusError("the corpus has no text to train on")
    return table


def count_tables(
    corpus: Readable,
    counter: Counter,
    *,
    threads: int,
    report: Reporter,
    max_bytes: int = 0,
    spill: Callable[[WordCounts], object] | None = None,
) -> list[WordCounts]:
    """Return the tables of all threads. A table that exceeds `max_bytes` of memory is passed to `spill`."""
    blocks = _Shared(corpus.blocks(counter.cut))
    tables = [WordCounts(counter.longest) for _ in range(threads)]

    def work(number: int) -> None:
        try:
            for block in blocks:
                counter.add(tables[number], block, corpus.errors)
                if spill is not None and tables[number].held_bytes > max_bytes:
                    spill(tables[number])
                    tables[number] = WordCounts(counter.longest)
                if number == 0:
                    report("count", corpus.done, corpus.total)
            if counter.finish is not None:
                counter.finish(tables[number])
        except BaseException as error:
            blocks.error = blocks.error or error
            for other in tables:
                other.cancelled = True

    helpers = [
        threading.Thread(target=contextvars.copy_context().run, args=(work, number), daemon=True)
        for number in range(1, threads)
    ]
    report("count", 0, corpus.total, always=True)
    for helper in helpers:
        helper.start()
    work(0)
    for helper in helpers:
        helper.join()
    if blocks.error is not None:
        raise blocks.error
    report("count", corpus.done, corpus.total, always=True)
    return tables


def one_table(tables: list[WordCounts]) -> WordCounts:
    """Return the sum of tables; the list is emptied."""
    # The others are added to the largest table; sums do not depend on the order.
    tables.sort(key=len, reverse=True)
    while len(tables) > 1:
        tables[0].merge(tables.pop())
    return tables.pop()


def by_pattern(pattern: str | None) -> Counter:
    """Return the counter of the pretokens of `pattern`; the text between its matches is pretokens too."""
    split = choose(pattern, keep_unmatched=True).split

    def count(table: WordCounts, block: Block, errors: str) -> None:
        if split is None:
            for text in block.documents(errors):
                if table.cancelled:
                    return
                pieces, ends = regex_split.split(pattern or "", text, keep_unmatched=True)
                if pieces:
                    table.add_text(pieces, patterns.WHOLE, ends.tobytes())
            return
        # Counting also validates; the rare blocks with errors are cleaned and counted again.
        if table.add_text(block.data, split, block.packed_ends()) >= 0:
            block = block.validated(errors)
            table.add_text(block.data, split, block.packed_ends())

    return Counter(count, longest=MAX_WORD_BYTES, cut=word_cuts.of_pattern(pattern, MAX_WORD_BYTES))


def by_components(normalizer: Normalizer | None, pretokenizer: Pretokenizer) -> Counter:
    """Return the counter of the pretokens that components make of documents, with one call per block."""

    def count(table: WordCounts, block: Block, errors: str) -> None:
        if table.cancelled:
            return
        block = block.validated(errors)
        text = AlignedText(block.data)
        ends = block.packed_ends()
        if ends is None:
            lines = np.flatnonzero(np.frombuffer(block.data, dtype=np.uint8) == ord("\n")) + 1
            ends = np.append(lines, len(block.data)).astype(np.int64).tobytes()
        text.cut_at(ends)
        if normalizer is not None:
            normalizer.normalize(text)
        pretokenizer.pretokenize(text)
        table.add_pieces(text)

    return Counter(count, cut=word_cuts.of_components(normalizer, pretokenizer))


def by_words(normalizer: Normalizer | None, pretokenizer: Pretokenizer, *, longest: int = 0) -> Counter:
    """Return the counter of `by_components` for components whose pretokens never cross white space.

    Words between white space are counted first, and pass through the components only once for all occurrences.
    """
    split = choose(r"[^ \t\n\r]+", keep_unmatched=False).split
    own = threading.local()

    def count(table: WordCounts, block: Block, errors: str) -> None:
        if table.cancelled or split is None:
            return
        raw = own.__dict__.setdefault("raw", WordCounts())
        if raw.add_text(block.data, split, block.packed_ends()) >= 0:
            block = block.validated(errors)
            raw.add_text(block.data, split, block.packed_ends())
        if raw.n_bytes > MAX_RAW_BYTES:
            finish(table)

    def finish(table: WordCounts) -> None:
        raw = own.__dict__.pop("raw", None)
        if raw is None or not len(raw) or table.cancelled:
            return
        words, ends, counts = raw.packed()
        text = AlignedText(words)
        text.cut_at(ends)
        if normalizer is not None:
            normalizer.normalize(text)
        pretokenizer.pretokenize(text)
        table.add_pieces(text, ends, counts)

    return Counter(count, finish, longest, word_cuts.at_white_space)


def words_of(
    counts: Mapping[str | bytes, int],
    *,
    as_text: bool = False,
    parts: Callable[[bytes], Iterable[bytes]] | None = None,
) -> WordCounts:
    """Make a table from counts: word → count; a word is text (" the", not "Ġthe") or bytes.

    With `as_text`, bytes must be UTF-8. With `parts`, the parts into which it cuts a word are counted instead.
    """
    table = WordCounts()
    total = 0
    for word, times in counts.items():
        if not isinstance(word, (str, bytes)):
            raise TypeError(f"a word is {type(word).__name__}; it must be str or bytes")
        if isinstance(times, bool):
            raise TypeError(f"the count of {word!r:.80} is a bool; it must be an int")
        try:
            utf8, number = word.encode() if isinstance(word, str) else word, operator.index(times)
            if as_text:
                utf8.decode()
        except UnicodeDecodeError:
            raise CorpusError(f"the word {word!r:.80} is not UTF-8") from None
        except UnicodeEncodeError:
            raise CorpusError(f"the word {word!r:.80} has a lone surrogate, which UTF-8 lacks") from None
        except TypeError:
            texts = (
                f"; for texts give an iterator, such as iter(source[{word!r:.40}])" if isinstance(times, list) else ""
            )
            raise TypeError(f"the count of {word!r:.80} is {type(times).__name__}; it must be an int{texts}") from None
        total += number * len(utf8)
        if not utf8 or number < 0 or total > MAX_TOTAL:
            reason = "a word is empty" if not utf8 else f"the count {number} of {word!r:.80} is "
            raise CorpusError(reason + ("" if not utf8 else "negative" if number < 0 else "too large to sum up"))
        for part in parts(utf8) if parts is not None else [utf8]:
            if number:
                table.add_word(part, number)
    if not len(table):
        raise CorpusError("the counts have no word to train on")
    return table
