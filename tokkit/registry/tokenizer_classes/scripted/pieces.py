"""The encoder of models that encode each pretoken by a function, and the model of the longest pieces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import VocabError

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText
    from tokkit.vocab import Vocab

Found = tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]
Tokens = Iterable[tuple[int, int]]
"""(id, number of characters) of the tokens of a pretoken, which follow one another from its start."""
MAX_CACHED = 1 << 14


class Encoder:
    """Encodes texts whose pretokens a function turns into tokens; it remembers the last pretokens."""

    def __init__(self, tokens: Callable[[str], Tokens]) -> None:
        self._tokens = tokens
        self._known: dict[str, list[tuple[int, int]]] = {}

    def _of(self, pretoken: str) -> list[tuple[int, int]]:
        found = self._known.get(pretoken)
        if found is None:
            found = list(self._tokens(pretoken))
            if len(pretoken) <= 64 and len(self._known) < MAX_CACHED:
                self._known[pretoken] = found
        return found

    def encode(self, text: AlignedText) -> Found:
        """Return (ids, spans, words) of the pretokens of a text."""
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        words: list[int] = []
        bounds = zip(text.pieces, text.bounds.tolist(), text.ids, strict=True)
        for number, (pretoken, (start, end), added) in enumerate(bounds):
            if added is not None:
                ids.append(added)
                spans.append((start, end))
                words.append(number)
                continue
            n_bytes = None if end - start == len(pretoken) else [len(character.encode()) for character in pretoken]
            at = start
            done = 0
            for id_, n in self._of(pretoken):
                stop = at + (n if n_bytes is None else sum(n_bytes[done : done + n]))
                ids.append(id_)
                spans.append((at, stop))
                words.append(number)
                at, done = stop, done + n
        return as_found(text, ids, spans, words)


def as_found(text: AlignedText, ids: list[int], spans: list[tuple[int, int]], words: list[int]) -> Found:
    """Return the arrays of a model's result; `spans` are in the changed text, those returned in the original."""
    places = np.array(spans, dtype=np.int64).reshape(-1, 2)
    if not text.in_place and len(places):
        origin = text.spans().astype(np.int64)
        begins, ends = np.append(origin[:, 0], origin[-1:, 1]), origin[:, 1]
        starts, stops = places.T
        last = np.maximum(stops - 1, 0)
        places = np.stack([begins[starts], np.where(starts < stops, ends[last], begins[starts])], axis=1)
    return np.array(ids, dtype=np.uint32), places, np.array(words, dtype=np.int32)


def own_ids(vocab: Vocab, added_ids: Collection[int]) -> dict[str, int]:
    """Return token → id of the tokens that a model may return."""
    hidden = frozenset(added_ids)
    return {token.decode(): id_ for token, id_ in vocab.items() if id_ not in hidden}


def no_token(text: str) -> VocabError:
    """Return the error for a text without a token, in a vocabulary without the unknown token."""
    return VocabError(f"{text[:40]!r} is not in the vocabulary, and neither is the unknown token")


@dataclass(frozen=True, slots=True)
class LongestPieces:
    """Model: the longest token at each position of a word; a character without a token is unknown.

    Words longer than `max_characters`, and `unknown_words`, are one unknown token.
    """

    unk_token: str
    max_characters: int
    unknown_words: frozenset[str] = frozenset()

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> Encoder:
        """Return the encoder."""
        ids = own_ids(vocab, added_ids)
        unknown, longest = vocab[self.unk_token], max(map(len, ids), default=1)

        def tokens(word: str) -> Tokens:
            if len(word) > self.max_characters or word in self.unknown_words:
                return [(unknown, len(word))]
            made: list[tuple[int, int]] = []
            at = 0
            while at < len(word):
                ends = range(min(len(word), at + longest), at, -1)
                end = next((end for end in ends if word[at:end] in ids), None)
                made.append((unknown, 1) if end is None else (ids[word[at:end]], end - at))
                at += made[-1][1]
            return made

        return Encoder(tokens)
