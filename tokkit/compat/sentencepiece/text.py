"""Messages of sentencepiece: `SentencePieceText` and `NBestSentencePieceText`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tokkit.formats import protobuf


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a text, and the text[begin:end] in bytes, its `surface`, that it stands for; None if not set."""

    piece: str
    id: int
    surface: str | None
    begin: int
    end: int

    def _serialized(self) -> bytes:
        surface = b"" if self.surface is None else protobuf.written(3, self.surface)
        head = protobuf.written(1, self.piece) + protobuf.written(2, self.id)
        return head + surface + protobuf.written(4, self.begin) + protobuf.written(5, self.end)


@dataclass(frozen=True, slots=True)
class SentencePieceText:
    """A text and its pieces, as the message of this name has them."""

    text: str
    pieces: Sequence[Piece]
    score: float | None = None

    def SerializeToString(self) -> bytes:
        """Return the message as protocol buffers write it."""
        score = b"" if self.score is None else protobuf.written(3, float(self.score))
        pieces = b"".join(protobuf.written(2, piece._serialized()) for piece in self.pieces)
        return protobuf.written(1, self.text) + pieces + score


@dataclass(frozen=True, slots=True)
class NBestSentencePieceText:
    """Several of them, the best first."""

    nbests: list[SentencePieceText] = field(default_factory=list)

    def SerializeToString(self) -> bytes:
        """Return the message as protocol buffers write it."""
        return b"".join(protobuf.written(1, one.SerializeToString()) for one in self.nbests)


@dataclass(frozen=True, slots=True)
class Segmented:
    """A text, what it was normalized to, and one way to cut that: ids, and spans (n, 2) in bytes of it."""

    original: bytes
    normalized: bytes
    origins: Any
    ids: list[int]
    spans: Any
    score: float | None = None

    def cut(self, ids: Any, spans: Any, score: float | None = None) -> Segmented:
        """Return another way to cut the same text."""
        return Segmented(self.original, self.normalized, self.origins, ids.tolist(), spans, score)

    def surfaces(self) -> list[tuple[int, int]]:
        """Return where in the original, in bytes, each piece comes from."""
        found: list[tuple[int, int]] = [(a, b) for a, b in self.origins[self.spans].tolist()]
        return found


def in_characters(utf8: bytes, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Turn places in bytes into places in characters."""
    if utf8.isascii():
        return list(places)
    starts = (np.frombuffer(utf8 + b" ", dtype=np.uint8) & 0xC0) != 0x80
    number = np.cumsum(starts) - 1
    # Inside a character, where only invalid UTF-8 can put a place, it counts as the next one's.
    number = number + ~starts
    return [(int(number[a]), int(number[b])) for a, b in places]


def gaps(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return where parts of these lengths begin and end, one after the other."""
    ends = [0, *np.cumsum(np.array(lengths, dtype=np.int64)).tolist()]
    return list(pairwise(ends))
