"""The best pieces of a normalized text by a Unigram model, with the rules of sentencepiece 0.2.3.

Scores are added up and compared as float32, in order of the starts of pieces and then of their lengths; a later way
must be better to win. A score below -100,000 is taken off all that have one yet. A user-defined piece scores 0.1 for
each byte but the first; a character that is no piece, ten less than the least piece.
"""

from __future__ import annotations

import numpy as np

from tokkit.models.sentencepiece import NORMAL, UNUSED, USER_DEFINED, SentencePieceModel

REBASE = np.float32(-100_000)


def scores(model: SentencePieceModel) -> tuple[dict[str, tuple[int, np.float32]], np.float32]:
    """Return text → (id, score) of the pieces that text spells, and the score of an unknown character."""
    found = {}
    for id_, kind in enumerate(model.types.tolist()):
        piece = model.pieces[id_]
        if kind == USER_DEFINED:
            found[piece.decode()] = id_, np.float32(0.1 * (len(piece) - 1))
        elif kind == NORMAL:
            found[piece.decode()] = id_, np.float32(model.scores[id_])
    normal = model.scores[(model.types == NORMAL) & (model.types != UNUSED)]
    return found, np.float32(np.float32(normal.min() if len(normal) else 0) - np.float32(10))


def best(model: SentencePieceModel, text: str) -> list[int]:
    """Return the ids of a normalized text, where neighbouring unknown characters are one."""
    pieces, unknown = scores(model)
    longest = max(map(len, pieces), default=1)
    way: list[tuple[np.float32, int, int] | None] = [(np.float32(0), 0, -1)] + [None] * len(text)
    for at in range(len(text)):
        here = way[at]
        assert here is not None
        if here[0] < REBASE:
            for j in range(at, min(at + longest, len(text)) + 1):
                if (node := way[j]) is not None:
                    way[j] = np.float32(node[0] - here[0]), node[1], node[2]
            here = way[at]
        candidates = [
            (end, *pieces[text[at:end]])
            for end in range(at + 1, min(at + longest, len(text)) + 1)
            if text[at:end] in pieces
        ]
        if text[at] not in pieces:
            candidates.append((at + 1, model.unk_id, unknown))
        for end, id_, score in candidates:
            total = np.float32(score + here[0])
            if (there := way[end]) is None or total > there[0]:
                way[end] = total, at, id_
    ids: list[int] = []
    at = len(text)
    while at:
        _, at, id_ = way[at]
        if not (ids and id_ == ids[-1] == model.unk_id):
            ids.append(id_)
    return ids[::-1]
