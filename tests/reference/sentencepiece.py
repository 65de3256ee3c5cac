"""Pieces of a normalized text by a SentencePiece model of each of the four types, in the simplest way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reference.sentencepiece_normalize import SPACE, Normalizing
from tokkit.models.sentencepiece import NORMAL, UNUSED, USER_DEFINED, SentencePieceModel


class Twin(Normalizing):
    def __init__(self, model: SentencePieceModel) -> None:
        super().__init__(model)
        self.pieces = {model.pieces[i].decode(): i for i in model.ids_of(NORMAL, USER_DEFINED, UNUSED)}

    def unigram(self, text: str) -> list[str]:
        f32, model = np.float32, self.model
        unknown = f32(model.scores[model.types == NORMAL].min()) - f32(10)
        best = [(f32(0), []), *[None] * len(text)]
        for at in range(len(text)):
            if (low := best[at][0]) < -100000:
                best[at:] = [b and (b[0] - low, b[1]) for b in best[at:]]
            for n in range(1, min(24, len(text) - at) + 1):
                piece = text[at : at + n]
                id_ = self.pieces.get(piece)
                if id_ is None or model.types[id_] == UNUSED:
                    if n > 1:
                        continue
                    score = unknown
                else:
                    score = f32(0.1 * (len(piece.encode()) - 1)) if piece in self.symbols else model.scores[id_]
                if best[at + n] is None or best[at][0] + score > best[at + n][0]:
                    best[at + n] = best[at][0] + score, [*best[at][1], piece]
        return best[-1][1]

    def bpe(self, text: str) -> list[str]:
        parts = self.char(text)
        while True:
            joins = [(-self.model.scores[self.pieces[a + b]], i) for i, (a, b) in enumerate(pairwise(parts))
                     if a + b in self.pieces and not {a, b} & self.symbols]  # fmt: skip
            if not joins:
                return parts
            at = min(joins)[1]
            parts[at : at + 2] = [parts[at] + parts[at + 1]]

    def word(self, text: str) -> list[str]:
        return [part for part in text.replace(SPACE, "\0" + SPACE).split("\0") if part]

    def char(self, text: str) -> list[str]:
        parts, at = [], 0
        while at < len(text):
            found = [s for s in self.symbols if text.startswith(s, at)]
            parts.append(max(found, key=len) if found else text[at])
            at += len(parts[-1])
        return parts
