"""Look-ups between tokens, words and characters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit import lazy
from tokkit._core.spans import spans_in_characters
from tokkit._core.text import to_utf8
from tokkit.errors import OptionError

Ranges = Mapping[int, tuple[int, int]]
"""Number of a text → (first, end) of its tokens; end is one past the last."""


class Aligned(ABC):
    """Look-ups between tokens, their spans, words and texts, in both directions.

    The result is None for a position beyond the end. A negative position raises OptionError.
    """

    __slots__ = ("_n", "_ranges")
    _n: int
    _ranges: Ranges

    @abstractmethod
    def column(self, name: str) -> Any:
        """Return "offsets", an array of (start, end), or "word_ids", -1 for none."""

    def _repr_html_(self) -> str:
        return lazy.notebook_html(self)

    @property
    def n_sequences(self) -> int:
        """The number of texts: 1, or 2 for a pair."""
        return len(self._ranges) or 1

    @property
    def sequence_ranges(self) -> dict[int, tuple[int, int]]:
        """Number of a text → (first, end) of its tokens; empty before postprocessing and after truncation."""
        return dict(self._ranges)

    def _sequence_range(self, sequence: int) -> tuple[int, int]:
        return self._ranges.get(index_of("sequence_index", sequence), (0, self._n))

    def _sequence_ids(self) -> NDArray[np.int32]:
        out = np.full(self._n, -1, dtype=np.int32)
        for sequence in range(self.n_sequences):
            start, end = self._sequence_range(sequence)
            out[start:end] = sequence
        return out

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the number of the text that a token is part of; None for a special token or a missing one."""
        if index_of("token_index", token_index) >= self._n:
            return None
        if not self._ranges:
            return 0
        inside = (sequence for sequence, (start, end) in self._ranges.items() if start <= token_index < end)
        return next(inside, None)

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Return the span of a token in characters of its text; None for a special token."""
        if self.token_to_sequence(token_index) is None:
            return None
        start, end = self.column("offsets")[token_index].tolist()
        return start, end

    def token_to_word(self, token_index: int) -> int | None:
        """Return the number of the word that a token is part of."""
        if self.token_to_sequence(token_index) is None:
            return None
        word = int(self.column("word_ids")[token_index])
        return word if word >= 0 else None

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the first token whose span contains a character of the text; None if there is none."""
        start, end = self._sequence_range(sequence_index)
        spans = self.column("offsets")[start:end]
        position = index_of("char_pos", char_pos)
        found = np.flatnonzero((spans[:, 0] <= position) & (spans[:, 1] > position))
        return start + int(found[0]) if len(found) else None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the number of the word that contains a character of the text."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return (first, end) of the tokens of a word; end is one past the last."""
        start, end = self._sequence_range(sequence_index)
        words = self.column("word_ids")[start:end]
        word = index_of("word_index", word_index)
        found = np.flatnonzero(words == word)
        if not len(found):
            return None
        # Word numbers ascend within a text; if texts were joined without ranges, a higher number ends the search.
        later = np.flatnonzero(words > word)
        found = found if not len(later) else found[found < later[0]]
        return (start + int(found[0]), start + int(found[-1]) + 1) if len(found) else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the span of a word in characters of its text."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        if tokens is None:
            return None
        spans = self.column("offsets")
        return int(spans[tokens[0], 0]), int(spans[tokens[1] - 1, 1])


def index_of(name: str, value: int) -> int:
    """Return a count or position that a caller gave; OptionError if it is not an int of at least 0."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
        raise OptionError(f"{name} is {value!r}; it must be an int of at least 0")
    return value.__index__()


def character_spans(text: str | bytes, spans: NDArray[np.int64], utf8: bytes | None = None) -> NDArray[np.int64]:
    """Convert spans of the UTF-8 of `text` to spans of all characters that they touch; both are (n, 2).

    An empty span between two characters stays empty, before the second. Pass the UTF-8 if you have it already.

    >>> character_spans("é🦜", np.array([[0, 2], [2, 3], [3, 6], [6, 6]])).tolist()
    [[0, 1], [1, 2], [1, 2], [2, 2]]
    """
    if text.isascii():
        return spans
    found, n_characters = spans_in_characters(utf8 or to_utf8(text), np.ascontiguousarray(spans, dtype=np.int64))
    return _code_units(text)[found] if isinstance(text, str) and len(text) != n_characters else found


def _code_units(text: str) -> NDArray[np.int64]:
    """Return the start in `text` of each character that the core reads, and the length of `text`.

    They differ from 0, 1, 2, … only if the str has surrogate pairs, which the core reads as one character.
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    high = (points & 0xFFFFFC00) == 0xD800
    low = (points & 0xFFFFFC00) == 0xDC00
    second = np.zeros(len(points), dtype=bool)
    second[1:] = high[:-1] & low[1:]
    return np.append(np.flatnonzero(~second), len(points))
