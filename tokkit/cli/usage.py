"""Measures how a tokenizer uses its vocabulary on texts: tokens, words, unknown and unused ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.cli.token_text import readable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokkit.encoding import Encoding
    from tokkit.tokenizer import Tokenizer

WORD = re.compile(r"\S+")
N_LONGEST = 5


class Counts:
    """Counts of a file, or of all files; counts can be added."""

    def __init__(self) -> None:
        self.texts = self.bytes = self.words = self.tokens = self.unknown_words = self.longest_text = 0

    def add(self, text: str, n_words: int, n_tokens: int, unknown_words: int) -> None:
        """Count one text."""
        self.texts += 1
        self.bytes += len(text.encode())
        self.words += n_words
        self.tokens += n_tokens
        self.unknown_words += unknown_words
        self.longest_text = max(self.longest_text, n_tokens)

    def rates(self) -> dict[str, Any]:
        """Return the counts and the rates computed from them; a rate is None if its divisor is 0."""
        return {
            "tokens": self.tokens,
            "bytes_per_token": _rate(self.bytes, self.tokens, 3),
            "tokens_per_word": _rate(self.tokens, self.words, 3),
            "tokens_per_text": _rate(self.tokens, self.texts, 1),
            "longest_text": self.longest_text,
            "oov_rate": _rate(self.unknown_words, self.words, 5),
        }


def _rate(n: int, of: int, digits: int) -> float | None:
    return round(n / of, digits) if of else None


class Usage:
    """Measures one tokenizer text by text.

    Words are separated by white space; a word is out of vocabulary if any of its tokens is the unknown token. A token
    is used if it occurs in some text; special tokens and other added tokens are not counted.
    """

    def __init__(self, tok: Tokenizer, special: str = "text") -> None:
        self.tok = tok
        self._special = special
        self._unknown = unknown_of(tok)
        self._used = np.zeros(tok.n_ids, dtype=bool)
        self.total = Counts()
        self.files: dict[str, Counts] = {}

    def add(self, file: str, text: str) -> Encoding:
        """Count a text of a file, and return its encoding."""
        encoding = self.tok(text, special=self._special, add_special=False, truncation=None, padding=None)
        ids = encoding.column("ids")
        self._used[ids] = True
        unknown = 0
        if self._unknown is not None and (of_unknown := ids == self._unknown).any():
            unknown = _words_touched(text, encoding.column("offsets")[of_unknown])
        n_words = len(text.split())
        for counts in (self.total, self.files.setdefault(file, Counts())):
            counts.add(text, n_words, len(ids), unknown)
        return encoding

    def facts(self) -> dict[str, Any]:
        """Return the measures over all texts: sizes, tokens that are never used, the longest tokens."""
        added = {token.id for token in self.tok.definition.added_tokens}
        own = [(token, id_) for token, id_ in self.tok.vocab.items() if id_ not in added]
        unused = sum(not self._used[id_] for _, id_ in own)
        longest = sorted((token for token, _ in own), key=len, reverse=True)[:N_LONGEST]
        return {
            "vocab_size": len(self.tok.vocab),
            "unused": unused,
            "unused_rate": _rate(unused, len(own), 5),
            "longest_tokens": [readable(token) for token in longest],
        }


def unknown_of(tok: Tokenizer) -> int | None:
    """Return the id of the unknown token; None if there is none."""
    model: Any = tok.definition.model
    token = getattr(model, "unk_token", None)
    id_: int | None = getattr(model, "unk_id", None) if token is None else tok.vocab.get(token)
    return id_


def _words_touched(text: str, spans: NDArray[np.int64]) -> int:
    """Return the number of words with a character in any of the spans, which are in ascending order."""
    words = np.array([match.span() for match in WORD.finditer(text)], dtype=np.int64).reshape(-1, 2)
    first = np.searchsorted(words[:, 1], spans[:, 0], side="right")
    last = np.searchsorted(words[:, 0], spans[:, 1], side="left")
    marks = np.zeros(len(words) + 1, dtype=np.int64)
    some = last > first
    np.add.at(marks, first[some], 1)
    np.add.at(marks, last[some], -1)
    return int((np.cumsum(marks)[:-1] > 0).sum())
