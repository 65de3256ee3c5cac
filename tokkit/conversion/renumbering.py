"""Gives the tokens of a definition new ids, wherever the definition names ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.definition import Definition
from tokkit.errors import OptionError
from tokkit.models.bpe import BPE
from tokkit.models.char_bpe import CharBPE
from tokkit.models.sentencepiece import SentencePieceModel
from tokkit.models.unigram import Unigram
from tokkit.postprocessors.bert import Bert
from tokkit.postprocessors.roberta import Roberta
from tokkit.postprocessors.sequence import Sequence
from tokkit.postprocessors.template import SpecialToken, Template
from tokkit.vocab import Vocab


def renumbered(definition: Definition, old: NDArray[np.int64], merges: NDArray[np.uint32] | None) -> Definition:
    """Return a definition with only the tokens of the ids `old`, ascending, which get the ids from 0 on.

    `merges`, with old ids, are those of a model with a list of merges.
    """
    new_ids = np.full(definition.vocab.n_ids, -1, dtype=np.int64)
    new_ids[old] = np.arange(len(old))
    new: Callable[[int], int] = lambda id_: int(new_ids[id_])  # noqa: E731
    vocab, empty = definition.vocab, definition.vocab.empty
    packed = Vocab.from_list(b"" if id_ == empty else vocab[id_] for id_ in old.tolist())
    if empty is not None:
        packed = Vocab(packed.blob, packed.offsets, new(empty))
    padding = definition.padding
    if padding is not None and 0 <= padding.pad_id < vocab.n_ids and new(padding.pad_id) >= 0:
        padding = replace(padding, pad_id=new(padding.pad_id))
    added = tuple(replace(token, id=new(token.id)) for token in definition.added_tokens)
    made = replace(
        definition,
        vocab=packed,
        model=_model(definition.model, packed, old, None if merges is None else new_ids[merges].astype(np.uint32)),
        special_tokens={token.content: token.id for token in added if token.special},
        added_tokens=added,
        added_ids=frozenset(new(id_) for id_ in definition.added_ids),
        postprocessor=_template(definition.postprocessor, new),
        padding=padding,
        name="",
    )
    return definition if len(old) == vocab.n_ids else made


def ids_of_template(definition: Definition) -> set[int]:
    """Return the ids that the postprocessor adds to texts."""
    found: set[int] = set()

    def note(id_: int) -> int:
        found.add(id_)
        return id_

    _template(definition.postprocessor, note)
    return found


def _model(model: Any, vocab: Vocab, old: NDArray[np.int64], merges: NDArray[np.uint32] | None) -> Any:
    if isinstance(model, (BPE, CharBPE)):
        return model if merges is None else replace(model, merges=merges)
    if isinstance(model, Unigram):
        own = old[old < len(model.scores)]
        unknown = None if model.unk_id is None else int(np.searchsorted(own, model.unk_id))
        return replace(model, scores=model.scores[own], unk_id=unknown)
    if isinstance(model, SentencePieceModel):
        own = old[old < model.pieces.n_ids]
        pieces = Vocab.from_list(model.pieces[id_] for id_ in own.tolist())
        return replace(model, pieces=pieces, scores=model.scores[own], types=model.types[own], kept_pieces=())
    return model


def _template(part: Any, new: Callable[[int], int]) -> Any:
    """Return a postprocessor with other ids."""
    if isinstance(part, Sequence):
        return replace(part, processors=tuple(_template(one, new) for one in part.processors))
    if isinstance(part, (Bert, Roberta)):
        return replace(part, sep=(part.sep[0], new(part.sep[1])), cls=(part.cls[0], new(part.cls[1])))
    if isinstance(part, Template):
        tokens = [SpecialToken(one.id, tuple(map(new, one.ids)), one.tokens) for one in part.special_tokens]
        return replace(part, special_tokens=tuple(tokens))
    if part is not None and part.n_added() > 0:
        raise OptionError(
            f"the postprocessor {type(part).__name__} adds tokens, but this function does not know where it stores "
            "their ids"
        )
    return part
