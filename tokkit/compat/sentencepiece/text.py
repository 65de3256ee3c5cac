"""Messages of sentencepiece: `SentencePieceText` and `NBestSentencePieceText`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tokkit.files import protobuf


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece, and its `surface` text[begin:end] in bytes; an empty one may be not set, which only bytes show."""

    piece: str
    id: int
    surface: str
    begin: int
    end: int
    has_surface: bool = field(default=True, repr=False)

    def _serialized(self) -> bytes:
        surface = protobuf.written(3, self.surface) if self.has_surface else b""
        head = protobuf.written(1, self.piece) + protobuf.written(2, self.id)
        return head + surface + protobuf.written(4, self.begin) + protobuf.written(5, self.end)


@dataclass(frozen=True, slots=True)
class SentencePieceText:
    """A text and its pieces, with the fields of the protobuf message."""

    text: str
    pieces: Sequence[Piece]
    score: float | None = None

    def SerializeToString(self) -> bytes:
        """Return the message serialized as by protobuf."""
        score = b"" if self.score is None else protobuf.written(3, float(self.score))
        pieces = b"".join(protobuf.written(2, piece._serialized()) for piece in self.pieces)
        return protobuf.written(1, self.text) + pieces + score


@dataclass(frozen=True, slots=True)
class NBestSentencePieceText:
    """Several segmentations, the best first."""

    nbests: list[SentencePieceText] = field(default_factory=list)

    def SerializeToString(self) -> bytes:
        """Return the message serialized as by protobuf."""
        return b"".join(protobuf.written(1, one.SerializeToString()) for one in self.nbests)


class Segmented(NamedTuple):
    """A text, its normalized form, and one segmentation of that: ids, and spans (n, 2) in its bytes."""

    original: bytes
    normalized: bytes
    origins: Any
    ids: list[int]
    spans: Any
    score: float | None = None

    def cut(self, ids: Any, spans: Any, score: float | None = None) -> Segmented:
        """Return another segmentation of the same text."""
        ids = ids if isinstance(ids, list) else ids.tolist()
        return Segmented(self.original, self.normalized, self.origins, ids, spans, score)

    def surfaces(self) -> list[tuple[int, int]]:
        """Return the span of each piece in the original text, in bytes."""
        return _pairs(self.origins[self.spans])


def in_characters(utf8: bytes, places: Any) -> list[tuple[int, int]]:
    """Convert spans in bytes, an array (n, 2) or a sequence, to spans in characters."""
    spans = np.asarray(places, dtype=np.int64).reshape(-1, 2)
    if utf8.isascii():
        return _pairs(spans)
    starts = (np.frombuffer(utf8 + b" ", dtype=np.uint8) & 0xC0) != 0x80
    number = np.cumsum(starts) - 1
    # A position inside a character, which only invalid UTF-8 can cause, counts as that of the next character.
    number = number + ~starts
    return _pairs(number[spans])


def _pairs(spans: Any) -> list[tuple[int, int]]:
    starts, ends = spans.T.tolist()
    return list(zip(starts, ends, strict=True))


def gaps(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return the spans of consecutive parts with these lengths."""
    ends = [0, *np.cumsum(np.array(lengths, dtype=np.int64)).tolist()]
    return list(pairwise(ends))
