"""Decoders of tokenizer classes over SentencePiece pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tokkit.decoders.base import Decoder
from tokkit.decoders.sentencepiece import text_of_names
from tokkit.models.sentencepiece import SentencePieceModel

SPACE = "\u2581"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedPieces(Decoder):
    """Joins pieces, and writes U+2581 as a space; `marks` are characters that stand for others, spaces are left out."""

    marks: tuple[tuple[str, str], ...] = ()

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        text = "".join(tokens).replace(SPACE, " ").strip()
        if self.marks:
            text = text.replace(" ", "")
            for mark, character in self.marks:
                text = text.replace(mark, character)
        return [text]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PiecesBetween(Decoder):
    """Decodes the pieces between two special tokens as SentencePiece does, and writes special tokens as they are.

    `before` is put before the first of adjacent special tokens, and `after` after each. `renamed` are tokens of the
    vocabulary that are read as others.
    """

    model: SentencePieceModel
    special: frozenset[str] = frozenset()
    before: str = ""
    after: str = ""
    in_capitals: bool = False
    replaces_spaces: bool = False
    strips: bool = True
    renamed: Mapping[str, str] = field(default_factory=dict)

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        made: list[str] = []
        pieces: list[str] = []
        was_special = False
        for token in tokens:
            if token not in self.special:
                pieces.append(self.renamed.get(token, token))
                was_special = False
                continue
            made += ["" if was_special else self.before, self._text(pieces), token, self.after]
            pieces = []
            was_special = True
        made.append(self._text(pieces))
        text = "".join(made)
        if self.replaces_spaces:
            text = text.replace(SPACE, " ")
        return [text.strip() if self.strips else text]

    def _text(self, pieces: list[str]) -> str:
        text = text_of_names(self.model, pieces)
        return text.upper() if self.in_capitals else text
