"""Models that encode each pretoken by a function, and the models that look up tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
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
        first = np.minimum(places[:, 0], len(origin) - 1)
        last = np.maximum(places[:, 1] - 1, first)
        places = np.stack(
            [origin[first, 0], np.where(places[:, 0] < places[:, 1], origin[last, 1], origin[first, 0])], axis=1
        )
    return np.array(ids, dtype=np.uint32), places, np.array(words, dtype=np.int32)


def own_ids(vocab: Vocab, added_ids: Collection[int]) -> dict[str, int]:
    """Return token → id of the tokens that a model may return."""
    hidden = frozenset(added_ids)
    return {token.decode(): id_ for token, id_ in vocab.items() if id_ not in hidden}


def no_token(text: str) -> VocabError:
    """Return the error for a text without a token, in a vocabulary without the unknown token."""
    return VocabError(f"{text[:40]!r} is not in the vocabulary, and neither is the unknown token")


@dataclass(frozen=True, slots=True)
class Lookup:
    """Model: a pretoken is one token, or the unknown one; `others` are pretokens that have another token's id."""

    unk_token: str
    others: Mapping[str, str] = field(default_factory=dict)

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> Encoder:
        """Return the encoder; VocabError, when it encodes, for a pretoken without a token if there is no unknown one."""
        ids = own_ids(vocab, added_ids)
        unknown = ids.get(self.unk_token)

        def tokens(pretoken: str) -> Tokens:
            id_ = ids.get(self.others.get(pretoken, pretoken), unknown)
            if id_ is None:
                raise no_token(pretoken)
            return [(id_, len(pretoken))]

        return Encoder(tokens)
