"""Prepares a corpus for training SentencePiece models: normalized words, their alphabet, and units."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tokkit._core.text import Normalizer
from tokkit._core.train import PieceRules, WordCounts
from tokkit.corpus.readers import Block
from tokkit.errors import CorpusError, OptionError
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.choice import choose
from tokkit.trainers.counts import Counter

SPACE_MARK = "\u2581"
UNKNOWN_MARK = "\u2585"
"""Sentences with this character are left out, as in sentencepiece, which uses it for unknown characters."""
BOUNDARY = "\x1f"
"""Replaces user-defined symbols and separates the parts of a sentence, as in sentencepiece. No piece holds it."""
NO_CHARACTERS = "\0 " + UNKNOWN_MARK + BOUNDARY
"""Characters that are never in the alphabet."""

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

    def tell(self, longest: int) -> None:
        """Log a warning for each reason."""
        if self.too_long:
            logger.warning(
                "%d sentences of more than %d bytes are left out, as sentencepiece does; max_sentence_length=None "
                "keeps all", self.too_long, longest,
            )  # fmt: skip
        if self.reserved:
            logger.warning("%d sentences are left out that hold %s, which is reserved", self.reserved, UNKNOWN_MARK)


def by_sentences(*, whole: bool, longest: int | None, left_out: LeftOut) -> Counter:
    """Return the counter of sentences or, unless `whole`, of words, which are far less text to normalize.

    Words must be normalized as within their sentence. Therefore a block with U+2581, which is removed at the end of a
    sentence, is always counted by sentences.
    """
    by_lines: Any = choose(r"[^\n]+", keep_unmatched=False).split
    words_of_lines: Any = choose(r"[^ \n]+", keep_unmatched=False).split
    words: Any = choose(r"[^ ]+", keep_unmatched=False).split

    def add(table: WordCounts, block: Block, left_out: LeftOut) -> int:
        data, ends = sentences(block, longest, left_out)
        all_of_it = whole or SPACE_MARK.encode() in data
        if ends is None:
            return table.add_text(data, by_lines if all_of_it else words_of_lines) if data else -1
        return table.add_text(data, patterns.WHOLE if all_of_it else words, ends) if data else -1

    def count(table: WordCounts, block: Block, errors: str) -> None:
        if not table.cancelled and add(table, block, left_out) >= 0:
            add(table, block.validated(errors), LeftOut())  # an error names the offset in the file

    return Counter(count)


def sentences(block: Block, longest: int | None, left_out: LeftOut) -> tuple[bytes, bytes | None]:
    r"""Return the sentences of a block that training uses, and their packed ends; None if each is a line.

    A line of a file is a sentence. So is every other document, as in sentencepiece: an item of an iterator, a record,
    a paragraph. It may hold "\n", except at its end.
    """
    if block.unit == "line" and block.ends is None:
        return _without_bad_lines(block.data, longest, left_out), None
    documents = block.texts()
    if block.unit != "line":
        documents = [document.rstrip(b"\r\n") for document in documents]
    mark, kept = UNKNOWN_MARK.encode(), list[bytes]()
    too_long = reserved = 0
    for document in documents:
        if longest is not None and len(document) > longest:
            too_long += 1
        elif mark in document:
            reserved += 1
        else:
            kept.append(document)
    left_out.add(too_long, reserved)
    return b"".join(kept), np.cumsum([len(document) for document in kept], dtype=np.int64).tobytes()


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


@dataclass(frozen=True)
class Cut:
    """A user's function that splits sentences, and whether the parts must be the whole sentence."""

    function: Callable[[str], Iterable[str]]
    consistent: bool

    def __call__(self, line: bytes) -> bytes:
        """Return a sentence with U+001F at the splits; the function sees it for symbols too, as in sentencepiece."""
        given = line.decode()
        parts = list(self.function(given))
        if self.consistent and (joined := "".join(parts)) != given:
            raise OptionError(
                f"pretokenizer made {joined!r:.80} of {given!r:.80}; the parts together must be the sentence; or pass "
                "allow_inconsistent_pretokenization=True"
            )
        return BOUNDARY.join(parts).replace(" ", SPACE_MARK).encode()


def normalized_words(
    texts: WordCounts,
    rules: PieceRules,
    normalizer: Normalizer,
    symbols: Sequence[str],
    cut: Cut | None = None,
    folder: bytes | None = None,
) -> WordCounts:
    """Return the words of counted texts, in mapped files in a `folder`.

    U+001F is in the place of each user-defined symbol, and wherever `cut` splits a sentence.
    """
    found = [symbol for symbol in symbols if SPACE_MARK in symbol or texts.contains(symbol.encode())]
    if not found and cut is None:
        return rules.words(texts, normalizer, folder)
    by_length = sorted((symbol.encode() for symbol in symbols), key=len, reverse=True)
    pattern = re.compile(b"|".join(map(re.escape, by_length)) or b"(?!)")
    apart = WordCounts(0, folder)
    for text, count in texts.items():
        line = pattern.sub(BOUNDARY.encode(), normalizer.normalize(text))
        if line:
            apart.add_word((cut(line) if cut is not None else line) or BOUNDARY.encode(), count)
    as_it_is = Normalizer(b"", [], add_prefix=False, remove_extra=False, escape=True)
    return rules.words(apart, as_it_is, folder)


def alphabet_of(words: WordCounts, coverage: float, required: str) -> dict[str, int]:
    """Return characters and their counts, the most frequent first; ties go to the smaller character.

    They are those needed to reach the coverage, and the `required` ones, even if they do not occur.
    """
    counts = {chr(code): times for code, times, _ in words.characters()}
    total = sum(counts.values())
    by_count = sorted(counts, key=lambda c: (-counts[c], c))
    kept = {c: counts.get(c, 0) for c in required}
    covered = 0
    for character in by_count:
        if covered / total >= coverage:
            break
        covered += counts[character]
        if character not in NO_CHARACTERS:
            kept[character] = counts[character]
    if not kept:
        raise CorpusError("the corpus has no character to train on")
    return dict(sorted(kept.items(), key=lambda item: (-item[1], item[0])))
