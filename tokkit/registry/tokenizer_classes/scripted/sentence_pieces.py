"""`Pieces` and its kinds: SentencePiece pieces that a tokenizer class looks up in a vocabulary of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tokkit._core.align import AlignedText
from tokkit.engine.sentencepiece import encoder_of
from tokkit.errors import CorpusError
from tokkit.models.sentencepiece import SentencePieceModel
from tokkit.registry.tokenizer_classes.scripted.changed_text import ChangedText, TextRule
from tokkit.vocab import Vocab

SPACE = "\u2581"

Piece = tuple[str, int, int]
"""The text of a piece, which for unknown characters is their own, and its span in characters of the text."""
Segment = Callable[[str], list[Piece]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pieces:
    """Encodes each text between two added tokens by itself, and looks up the id of each piece by its text.

    `ids` are the ids of pieces, `unknown` that of all others. `rules` change a text before SentencePiece sees it.
    With `lead`, this text, normally the unknown token, is put before those texts that begin with a space, and its
    pieces are left out; the model then adds no space of its own. `own_special` are special tokens that `ids` has
    anyway: where they must not be found, no added token is found by the text of a piece.
    """

    model: SentencePieceModel
    ids: Mapping[str, int]
    unknown: int
    rules: tuple[TextRule, ...] = ()
    lead: str = ""
    own_special: frozenset[int] = frozenset()

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> PieceEncoder:
        """Return the encoder; `added_ids` are not found, unless all special tokens may be."""
        hides = not self.own_special or not self.own_special.isdisjoint(added_ids)
        return PieceEncoder(self, frozenset(added_ids) if hides else frozenset())

    def of_text(self, text: str, segment: Segment, *, is_first: bool, following: int | None) -> list[Piece]:
        """Return the pieces of a text between two added tokens; `following` is the id of the second.

        `is_first` is set for the start of the whole text.
        """
        changed = ChangedText.of(text)
        for rule in self.rules:
            changed = rule(changed)
        return [(piece, *changed.span(start, end)) for piece, start, end in self.of_changed(changed.text, segment)]

    def of_changed(self, text: str, segment: Segment) -> list[Piece]:
        """Return the pieces of a text after all rules."""
        if self.lead and text.startswith((SPACE, " ")):
            return led(text, self.lead, segment)
        return segment(text)


def led(text: str, lead: str, segment: Segment) -> list[Piece]:
    """Return the pieces of a text that follows another one, whose pieces are left out by their number."""
    found, n = segment(lead + text), len(segment(lead))
    kept = found[n:] if len(found) >= n else found
    return [(piece, max(start - len(lead), 0), max(end - len(lead), 0)) for piece, start, end in kept]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LanguagePieces(Pieces):
    """The same, but a language code at the start of a text, >>xx<<, is one piece."""

    def of_changed(self, text: str, segment: Segment) -> list[Piece]:
        """Return the code, if there is one, and the pieces after it."""
        end = text.find("<<") + 2 if text.startswith(">>") else 1
        if end < 2:
            return segment(text)
        return [(text[:end], 0, end), *((piece, a + end, b + end) for piece, a, b in segment(text[end:]))]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CaptionPieces(Pieces):
    """The same, but U+2581 is put before the whole text, and `lead` before each part.

    `special` are the ids of the special tokens.
    """

    special: frozenset[int] = frozenset()

    def of_text(self, text: str, segment: Segment, *, is_first: bool, following: int | None) -> list[Piece]:
        """Return the pieces of a text between two added tokens."""
        changed = ChangedText.of(text).each(lambda character: " " if character == SPACE else character)
        if is_first:
            changed = ChangedText(SPACE + changed.text, [0, *changed.starts], [0, *changed.ends])
        for rule in self.rules:
            changed = rule(changed)
        found = led(changed.text, self.lead, segment)
        if is_first and [piece for piece, _, _ in found] == [SPACE] and following in self.special:
            return []
        return [(piece, *changed.span(start, end)) for piece, start, end in found]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NumberPieces(Pieces):
    """The same, but a piece that ends with a digit and a comma is encoded again without the comma."""

    def of_changed(self, text: str, segment: Segment) -> list[Piece]:
        """Return the pieces."""
        made: list[Piece] = []
        for piece, start, end in segment(text):
            if len(piece) < 2 or piece[-1] != "," or not piece[-2].isdigit():
                made.append((piece, start, end))
                continue
            inner = [name for name, _, _ in segment(piece[:-1].replace(SPACE, ""))]
            if piece[0] != SPACE and inner[0][0] == SPACE:
                inner = inner[1:] if len(inner[0]) == 1 else [inner[0][1:], *inner[1:]]
            made += [(name, start, end) for name in inner]
            made.append((",", start, end))
        return made


class PieceEncoder:
    """Runs `Pieces`. Safe to share between threads."""

    def __init__(self, rule: Pieces, hidden: frozenset[int]) -> None:
        self._rule, self._hidden = rule, hidden
        self._core = encoder_of(rule.model)
        self._names = [piece.decode() for piece in rule.model.pieces]
        self._unknown = rule.model.unk_id

    def encode(self, text: AlignedText) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]]:
        """Return (ids, spans, words) of a text; the number of a word is that of the text between added tokens."""
        parts: list[tuple[str, int | None, int, int]] = [
            (part, id_, start, end)
            for part, id_, (start, end) in zip(text.pieces, text.ids, text.bounds.tolist(), strict=True)
        ]
        if not parts or parts[0][1] is not None:
            parts.insert(0, ("", None, 0, 0))
        found: list[tuple[int, int, int, int]] = []
        for number, (part, id_, start, end) in enumerate(parts):
            if id_ is not None:
                found.append((id_, start, end, number))
                continue
            following = parts[number + 1][1] if number + 1 < len(parts) else None
            at = list(accumulate((len(character.encode()) for character in part), initial=start))
            for piece, a, b in self._rule.of_text(part, self._segment, is_first=number == 0, following=following):
                found.append((self._id(piece), at[a], at[b], number))
        columns = np.array(found, dtype=np.int64).reshape(-1, 4)
        places = columns[:, 1:3]
        if not text.in_place and len(places):
            origin = text.spans().astype(np.int64)
            places = np.stack([origin[places[:, 0], 0], origin[np.maximum(places[:, 1] - 1, places[:, 0]), 1]], axis=1)
        return columns[:, 0].astype(np.uint32), np.ascontiguousarray(places), columns[:, 3].astype(np.int32)

    def _id(self, piece: str) -> int:
        id_ = self._rule.ids.get(piece)
        return self._rule.unknown if id_ is None or id_ in self._hidden else id_

    def _segment(self, text: str) -> list[Piece]:
        """Return the pieces of a text; an unknown piece is the text that it covers."""
        if not text:
            return []
        try:
            normalized, ids, spans, origins = self._core.segments(text.encode())
        except OverflowError as error:
            raise CorpusError(str(error)) from None
        names = [self._names[id_] for id_ in ids.tolist()]
        for k in np.flatnonzero(ids == self._unknown).tolist():
            names[k] = normalized[slice(*spans[k].tolist())].decode()
        places = _in_characters(text, origins[spans].tolist())
        return [(name, start, end) for name, (start, end) in zip(names, places, strict=True)]


def _in_characters(text: str, places: list[list[int]]) -> list[list[int]]:
    if text.isascii():
        return places
    utf8 = np.frombuffer(text.encode() + b" ", dtype=np.uint8)
    number = (np.cumsum((utf8 & 0xC0) != 0x80) - 1).tolist()
    return [[number[start], number[end]] for start, end in places]
