"""Counts texts and their tokens by the rule of all reports: each file, or record, is one text."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit.corpus import paths
from tokkit.corpus.readers import Corpus, InputErrors
from tokkit.errors import SpecialTokenError

if TYPE_CHECKING:
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

_SLICE_BYTES = 1 << 16
"""Bytes whose words are counted at a time: the list of the words of a megabyte takes 20 MB."""
RULE = "each file, or record, is one text"
"""What a text is, for messages: files are not cut into lines, line ends belong to their text."""


class TextCounts:
    """The counts of texts: `used` has the number of occurrences of each id. Words are separated by white space."""

    def __init__(self, n_ids: int) -> None:
        self.texts = self.bytes = self.characters = self.words = self.lines = self.tokens = 0
        self.used: NDArray[np.int64] = np.zeros(n_ids, dtype=np.int64)
        self.documents = 0
        self._begin()

    def _begin(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._in_word = False

    def reads(self, path: str) -> None:
        """Accept every file, because nothing is written: the interface of an `IdSink`."""

    def write(self, ids: Any) -> None:
        """Count packed ids of four bytes."""
        found = np.frombuffer(ids, dtype=np.uint32)
        self.tokens += len(found)
        self.used += np.bincount(found, minlength=len(self.used))

    def add(self, data: bytes | memoryview) -> None:
        """Count the next bytes of a text, which may end anywhere."""
        self.bytes += len(data)
        for start in range(0, len(data), _SLICE_BYTES):
            text = self._decoder.decode(data[start : start + _SLICE_BYTES])
            self.characters += len(text)
            self.lines += text.count("\n")
            self.words += len(text.split())
            if text:
                self.words -= self._in_word and not text[0].isspace()
                self._in_word = not text[-1].isspace()

    def end(self) -> None:
        """End a text."""
        self.texts += 1
        self._begin()

    def __add__(self, other: TextCounts) -> TextCounts:
        made = TextCounts(len(self.used))
        for name in ("texts", "bytes", "characters", "words", "lines", "tokens", "used"):
            setattr(made, name, getattr(self, name) + getattr(other, name))
        return made


def count_file(
    tok: Tokenizer,
    path: str,
    *,
    special: Special = "text",
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
    tables: bool = False,
    tokens_only: bool = False,
    tick: Callable[[int], object] | None = None,
) -> TextCounts:
    """Return the counts of a file, which is read in constant memory; `tables` is as in `Corpus`.

    A byte-order mark is part of the text. With `tokens_only`, only texts and tokens are counted.
    """
    made = TextCounts(tok.n_ids)
    if not paths.holds_records(path) and not (tables and paths.suffix_of(path) in paths.TABLES):
        # Not in a second thread: Ctrl-C could not stop one that waits for a pipe or a terminal.
        workers = threads if os.path.isfile(path) else 1
        encoder = tok.file_encoder(special=special, threads=workers, input_errors=input_errors, narrow=False)
        encoder.encode(path, made, tick, see=None if tokens_only else made.add)
        made.end()
        return made
    corpus = Corpus([path], unit="file", field=field, errors=input_errors, tables=tables)
    for block in corpus:
        texts = block.texts()
        try:
            ids, _ = tok.encode_batch(texts, special=special, threads=threads)
        except SpecialTokenError as error:
            raise SpecialTokenError(f"{block.name}: {error}") from None
        made.write(ids)
        for text in texts:
            if not tokens_only:
                made.add(text)
            made.end()
        if tick is not None:
            tick(corpus.done)
    return made
