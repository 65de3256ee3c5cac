"""Adds pieces to SentencePiece models: user-defined ones, which are never split, or normal ones at given scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from tokkit.checks import is_text
from tokkit.conversion.editing import Edited
from tokkit.errors import OptionError, VocabError
from tokkit.formats.sentencepiece import whole_model
from tokkit.models.names import described
from tokkit.models.sentencepiece import NORMAL, USER_DEFINED, SentencePieceModel
from tokkit.tokenizer import Tokenizer

_TYPES = {"user_defined": USER_DEFINED, "normal": NORMAL}
_MAX_SCORE = float(np.finfo(np.float32).max)


def add_pieces(
    tok: Tokenizer,
    pieces: Sequence[str] | Mapping[str, float],
    *,
    kind: Literal["user_defined", "normal"] = "user_defined",
) -> Edited:
    r"""Add pieces to a SentencePiece model, with ids after all others; old ids do not change.

    A "user_defined" piece is found wherever its text is, and is never split. A "normal" piece competes with the others
    by its score, so `pieces` must be a mapping of text to score. U+2581 is a space. In a model of words, each piece is
    a whole word. The tokenizer is saved as a .model
    with the pieces, which sentencepiece reads; docs/formats.md says when a tokenizer.json can have them.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["low lower lowest"] * 9), model="sp-bpe", vocab_size=20)
    >>> more, ids = add_pieces(tok, ["<extra>"])
    >>> more.encode("low<extra>")[-1] == tok.n_ids
    True
    >>> more, ids = add_pieces(tok, {"\u2581lowering": -0.5}, kind="normal")
    >>> more.vocab[tok.n_ids].decode() == "\u2581lowering"
    True
    """
    if not isinstance(tok.definition.model, SentencePieceModel):
        name = described(tok.definition.model)
        raise OptionError(f"add_pieces is for SentencePiece models; the model is {name}: use add_tokens")
    if kind not in _TYPES:
        raise OptionError(f"kind is {kind!r}; it must be one of {', '.join(_TYPES)}")
    if isinstance(pieces, str):
        raise TypeError(f"pieces is the str {pieces!r}; it must be a list of them, or a mapping of text to score")
    if kind == "normal" and not isinstance(pieces, Mapping):
        raise OptionError("normal pieces need scores: pieces must be a mapping of text to score")
    scores = _checked(pieces if isinstance(pieces, Mapping) else dict.fromkeys(pieces, 0.0))
    if not isinstance(pieces, Mapping) and len(scores) < len(pieces):
        raise VocabError("a piece is given twice; give each piece once")
    model = whole_model(tok.definition)
    if known := next((piece for piece in scores if piece in model.pieces), None):
        raise VocabError(f"{known!r} is a piece already, with the id {model.pieces[known]}")
    first, n = model.pieces.n_ids, len(scores)
    made = replace(
        model,
        pieces=model.pieces.with_tokens({first + k: piece.encode() for k, piece in enumerate(scores)}),
        scores=np.concatenate([model.scores, np.array(list(scores.values()), dtype=np.float32)]),
        types=np.concatenate([model.types, np.full(n, _TYPES[kind], dtype=np.uint8)]),
    )
    definition = replace(tok.definition, vocab=made.pieces, model=made, name="" if n else tok.definition.name)
    return Edited(Tokenizer(definition), np.arange(first))


def _checked(pieces: Mapping[str, float]) -> dict[str, float]:
    for piece, score in pieces.items():
        if not is_text(piece) or not piece or " " in piece:
            raise OptionError(f"the piece {piece!r} is invalid; it must be text without a space, which is U+2581")
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not abs(score) <= _MAX_SCORE:
            raise OptionError(f"the score of {piece!r} is {score!r}; it must be a finite number")
    return dict(pieces)
