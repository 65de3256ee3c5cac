"""Reads the documents of a corpus as the sentences that SentencePiece models are trained on, and counts them."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus.readers import Block
from tokkit.errors import CorpusError
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.choice import choose
from tokkit.trainers.counts import MAX_TOTAL, Counter
from tokkit.trainers.sentencepiece_text import SPACE_MARK, UNKNOWN_MARK

logger = logging.getLogger("tokkit")


@dataclass
class LeftOut:
    """Numbers of sentences that were left out, by reason."""

    too_long: int = 0
    reserved: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, too_long: int, reserved: int) -> None:
        """Add to both numbers; threads may call this at the same time."""
        with self.lock:
            self.too_long += too_long
            self.reserved += reserved

    def tell(self, longest: int | None) -> None:
        """Log a warning for each reason."""
        if self.too_long:
            logger.warning(
                "%d sentences of more than %d bytes are left out, as sentencepiece does; max_sentence_length=None "
                "keeps all", self.too_long, longest,
            )  # fmt: skip
        if self.reserved:
            logger.warning("%d sentences are left out that hold %s, which is reserved", self.reserved, UNKNOWN_MARK)


@dataclass(frozen=True)
class Reading:
    """How documents are read: the maximum bytes of a sentence (None: any), and whether each has a count ("tsv")."""

    longest: int | None
    weighted: bool
    left_out: LeftOut

    def sentences(self, block: Block) -> tuple[bytes, bytes | None]:
        r"""Return the sentences of a block that training uses, and their packed ends; None if each is a line.

        A line of a file is a sentence. So is every other document, as in sentencepiece: an item of an iterator, a
        record, a paragraph. It may hold "\n", except at its end. With counts, they are in the sentences.
        """
        if block.unit == "line" and block.ends is None and not self.weighted:
            return _without_bad_lines(block.data, self.longest, self.left_out), None
        documents, ends = block.texts(), b"\n" if block.unit == "line" else b"\r\n"
        if block.unit != "line" or block.ends is None:
            documents = [document.rstrip(ends) for document in documents]
        kept = list(self._kept(documents, block.name))
        return b"".join(kept), np.cumsum([len(document) for document in kept], dtype=np.int64).tobytes()

    def _kept(self, documents: Iterable[bytes], name: str) -> Iterator[bytes]:
        mark = UNKNOWN_MARK.encode()
        too_long = reserved = 0
        for document in documents:
            text = text_and_count(document, name)[0] if self.weighted else document
            if self.longest is not None and len(text) > self.longest:
                too_long += 1
            elif mark in text:
                reserved += 1
            else:
                yield document
        self.left_out.add(too_long, reserved)


def text_and_count(sentence: bytes, name: str) -> tuple[bytes, int]:
    r"""Return the text and the count of a sentence "text<tab>count"; `name` is the file's, for messages.

    >>> text_and_count(b"new words\t3", "file")
    (b'new words', 3)
    """
    text, tab, count = sentence.partition(b"\t")
    if not tab or not re.fullmatch(rb"\s*\+?[0-9]{1,18}\s*", count) or int(count) < 1:
        raise CorpusError(
            f"{name}: {sentence.decode(errors='replace')!r:.80} is not a text, one tab and a count of at least 1, as "
            'input_format="tsv" needs'
        )
    if int(count) * len(text) > MAX_TOTAL:
        raise CorpusError(f"{name}: the count {int(count)} of {text.decode(errors='replace')!r:.80} is too large")
    return text, int(count)


def by_sentences(reading: Reading, *, whole: bool) -> Counter:
    """Return the counter of sentences or, unless `whole`, of words, which are far less text to normalize.

    Words must be normalized as within their sentence. Therefore a block with U+2581, which is removed at the end of a
    sentence, is always counted by sentences.
    """
    by_lines: Any = choose(r"[^\n]+", keep_unmatched=False).split
    words_of_lines: Any = choose(r"[^ \n]+", keep_unmatched=False).split
    words: Any = choose(r"[^ ]+", keep_unmatched=False).split

    def add(table: WordCounts, block: Block, reading: Reading) -> int:
        data, ends = reading.sentences(block)
        all_of_it = whole or SPACE_MARK.encode() in data
        if ends is None:
            return table.add_text(data, by_lines if all_of_it else words_of_lines) if data else -1
        return table.add_text(data, patterns.WHOLE if all_of_it else words, ends) if data else -1

    def count(table: WordCounts, block: Block, errors: str) -> None:
        if not table.cancelled and add(table, block, reading) >= 0:
            # An error names the offset in the file; what is left out has been counted.
            add(table, block.validated(errors), replace(reading, left_out=LeftOut()))

    def count_weighted(table: WordCounts, block: Block, errors: str) -> None:
        if table.cancelled:
            return
        block = block.validated(errors)
        data, ends = reading.sentences(block)
        for sentence in replace(block, data=data, unit="item", ends=ends).texts():
            text, n = text_and_count(sentence, block.name)
            all_of_it = whole or SPACE_MARK.encode() in text
            for word in filter(None, [text] if all_of_it else text.split(b" ")):
                table.add_word(word, n)

    return Counter(count_weighted if reading.weighted else count)


def _without_bad_lines(data: bytes, longest: int | None, left_out: LeftOut) -> bytes:
    """Return a text without its lines that are too long or hold U+2585."""
    mark = UNKNOWN_MARK.encode()
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    lengths = np.diff(ends, prepend=-1) - 1
    too_long = set() if longest is None else set(np.flatnonzero(lengths > longest).tolist())
    last = int(ends[-1]) + 1 if len(ends) else 0
    if longest is not None and len(data) - last > longest:
        too_long.add(len(ends))
    reserved: set[int] = set()
    at = data.find(mark)
    while at >= 0:
        reserved.add(int(np.searchsorted(ends, at)))
        at = data.find(mark, at + 1)
    reserved -= too_long
    if not too_long and not reserved:
        return data
    left_out.add(len(too_long), len(reserved))
    kept, start = [], 0
    for line in sorted(too_long | reserved):
        kept.append(data[start : int(ends[line - 1]) + 1 if line else 0])
        start = int(ends[line]) + 1 if line < len(ends) else len(data)
    return b"".join([*kept, data[start:]])
