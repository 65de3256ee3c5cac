"""Encodes one text with several tokenizers, and aligns their tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit._core.text import to_utf8
from tokkit.encoding import Encoding
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.tokenizer import Tokenizer


def align(text: Text, levels: Mapping[str, Tokenizer]) -> AlignedEncodings:
    """Encode a text with each of several tokenizers, without special tokens, and align the encodings.

    `levels` maps names, which you choose, to tokenizers. OptionError if it is empty.

    >>> import tokkit
    >>> words = {"the": 3, "cat": 2}
    >>> mixed = align("the cat", {"word": tokkit.train(words, model="word"), "char": tokkit.train(words, model="char")})
    >>> mixed["word"].tokens
    ['the', 'cat']
    >>> mixed.map("word", "char").tolist()
    [[0, 3], [4, 7]]
    """
    if not isinstance(levels, Mapping):
        raise TypeError(f"levels is a {type(levels).__name__}; it must be a mapping of names to tokenizers")
    if not levels:
        raise OptionError("levels is empty; it must have at least one tokenizer")
    for name, tok in levels.items():
        if not isinstance(name, str) or not callable(tok):
            raise TypeError(f"levels maps {name!r} to a {type(tok).__name__}; it must map names to tokenizers")
    encodings = {name: tok(text, add_special=False, truncation=None, padding=None) for name, tok in levels.items()}
    return AlignedEncodings(to_utf8(text), encodings)


class AlignedEncodings:
    """One text at several levels: `aligned[name]` is the `Encoding` of one level; iterating yields names. Immutable.

    Tokens are aligned if they share bytes of the text. Tokens that cover no bytes, and text that a level drops, have no
    aligned tokens.
    """

    __slots__ = ("_levels", "_text")

    def __init__(self, text: bytes, levels: Mapping[str, Encoding]) -> None:
        self._text = text
        self._levels = dict(levels)

    def __getitem__(self, name: str) -> Encoding:
        if not isinstance(name, str) or name not in self._levels:
            raise OptionError(f"there is no level {name!r}; the levels are {', '.join(self._levels)}")
        return self._levels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._levels)

    def __len__(self) -> int:
        return len(self._levels)

    def _spans(self, name: str) -> NDArray[np.int64]:
        spans: NDArray[np.int64] = self[name].column("byte_offsets")
        return spans

    def pairs(self, of: str, to: str) -> NDArray[np.int64]:
        """Return (i, j) for each token i of the level `of` and token j of `to` that share a byte: int64, (n, 2).

        Ordered by i, then by j. The relation is many-to-many.
        """
        first, last = self._reach(of, to)
        n_each = last - first
        i = np.repeat(np.arange(len(first)), n_each)
        j = np.arange(len(i)) - np.repeat(np.cumsum(n_each) - n_each, n_each) + np.repeat(first, n_each)
        own, other = self._spans(of)[i], self._spans(to)[j]
        shared = np.minimum(own[:, 1], other[:, 1]) > np.maximum(own[:, 0], other[:, 0])
        return np.stack([i[shared], j[shared]], axis=1).astype(np.int64)

    def map(self, of: str, to: str) -> NDArray[np.int64]:
        """Return, for each token of the level `of`, (first, end) of the tokens of `to` that share bytes with it.

        int64 of shape (tokens of `of`, 2); `end` is one past the last, and equal to `first` if there are none.
        """
        pairs = self.pairs(of, to)
        n = len(self[of])
        starts = np.searchsorted(pairs[:, 0], np.arange(n))
        ends = np.searchsorted(pairs[:, 0], np.arange(n), side="right")
        found = np.zeros((n, 2), dtype=np.int64)
        some = ends > starts
        found[some, 0] = pairs[starts[some], 1]
        found[some, 1] = pairs[ends[some] - 1, 1] + 1
        return found

    def _reach(self, of: str, to: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for each token, (first, end) of a range that contains all tokens that share bytes with it.

        Spans are nearly always in order, but a normalizer may move text backwards. Therefore the search uses the
        maximum of all ends so far and the minimum of all later starts.
        """
        own, other = self._spans(of), self._spans(to)
        ends = np.maximum.accumulate(other[:, 1])
        starts = np.minimum.accumulate(other[::-1, 0])[::-1]
        first = np.searchsorted(ends, own[:, 0], side="right")
        last = np.searchsorted(starts, own[:, 1], side="left")
        return first, np.maximum(first, last)

    def blocks(self) -> NDArray[np.int64]:
        """Return the shortest spans of the text that no token of any level crosses: int64, (n, 2).

        (start, end) in bytes of the text's UTF-8, in order; together they cover all bytes that any token covers.
        """
        spans = np.concatenate([self._spans(name) for name in self])
        spans = np.unique(spans[spans[:, 1] > spans[:, 0]], axis=0)
        if not len(spans):
            return np.empty((0, 2), dtype=np.int64)
        ends = np.maximum.accumulate(spans[:, 1])
        begins = np.append(True, spans[1:, 0] >= ends[:-1])
        first = np.flatnonzero(begins)
        return np.stack([spans[first, 0], ends[np.append(first[1:], len(spans)) - 1]], axis=1)

    def side_by_side(self) -> list[tuple[bytes, dict[str, list[bytes]]]]:
        """Return (text, {level name: tokens that cover it}) for each block.

        >>> import tokkit
        >>> words = {"the": 3, "cat": 2}
        >>> levels = {model: tokkit.train(words, model=model) for model in ("word", "char")}
        >>> align("a cat", levels).side_by_side()[-1]
        (b'cat', {'word': [b'cat'], 'char': [b'c', b'a', b't']})
        """
        blocks = self.blocks()
        made: list[tuple[bytes, dict[str, list[bytes]]]] = [
            (self._text[start:end], {name: [] for name in self}) for start, end in blocks.tolist()
        ]
        for name in self:
            spans = self._spans(name)
            numbers = np.searchsorted(blocks[:, 0], spans[:, 0], side="right") - 1
            covers = (spans[:, 1] > spans[:, 0]).tolist()
            for number, there, token in zip(numbers.tolist(), covers, self[name].column("token_bytes"), strict=True):
                if there:
                    made[number][1][name].append(token)
        return made

    @property
    def text(self) -> bytes:
        """The text's UTF-8, which the spans of all levels refer to."""
        return self._text

    def __repr__(self) -> str:
        levels = ", ".join(f"{name} {len(encoding)}" for name, encoding in self._levels.items())
        return f"<AlignedEncodings of {len(self._text)} bytes: {levels} tokens>"
