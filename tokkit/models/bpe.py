"""Builds the core's encoder of byte-level BPE."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from tokkit._core.encode import BPEEncoder
from tokkit.definition import BPE
from tokkit.errors import VocabError
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokkit._core.encode import Stages
    from tokkit._core.split import SplitPattern

WHOLE = 0
"""The scanner that does not split."""

CACHE_WORDS = 1 << 19
"""Maximum number of pretokens of up to 15 bytes in one thread's cache, not counting tokens of the vocabulary. With a
vocabulary of up to 200,000 tokens, this table takes at most 64 MiB; longer pretokens have another table of at most 20
MiB.
"""


def encoder(
    vocab: Vocab,
    model: BPE,
    special_ids: Collection[int],
    split: int | SplitPattern,
    *,
    cache_words: int = CACHE_WORDS,
    before: Stages | None = None,
    splittable: bool = False,
) -> BPEEncoder:
    """Build the encoder; an invalid vocabulary raises VocabError.

    `split` is the number of the scanner that splits the text (`pretokenizers.patterns.SCANNERS`), or a compiled
    pattern. `before` runs on the text first. `splittable`: texts may be cut at split points (split_points.h).
    """
    made = _model(vocab, model, special_ids, split, cache_words, before, splittable)
    try:
        made.prepare()
    except ValueError:
        raise VocabError(_repeated_token(vocab, special_ids)) from None
    return made


def _repeated_token(vocab: Vocab, special_ids: Collection[int]) -> str:
    ids: dict[bytes, int] = {}
    for token, id_ in vocab.items():
        if id_ not in special_ids and ids.setdefault(token, id_) != id_:
            return f"the ids {ids[token]} and {id_} have the same token, {token!r}"
    return "two tokens have the same bytes"


def possible_merges(vocab: Vocab, model: BPE, special_ids: Collection[int]) -> tuple[NDArray[np.uint32], int]:
    """Return (merges, unreachable): the merges that can happen, and the number of tokens that no merge makes.

    `merges` has shape (n, 3), the ids of left, right and result in order of priority, one for each token that merging
    can make. The merges inside a token always happen in the same order as when the token is encoded alone, so no other
    way to build it occurs. Models with equal merges give equal ids, whether rank BPE or merge list, except for
    unreachable tokens, which only occur as whole pretokens.
    """
    made = _model(vocab, model, special_ids, WHOLE, 0)
    return made.merges(), made.unreachable


def _model(
    vocab: Vocab,
    model: BPE,
    special_ids: Collection[int],
    split: int | SplitPattern,
    cache_words: int,
    before: Stages | None = None,
    splittable: bool = False,
) -> BPEEncoder:
    special = np.zeros(vocab.n_ids, dtype=np.uint8)
    if special_ids:
        special[list(special_ids)] = 1
    merges = None if model.merges is None else np.ascontiguousarray(model.merges, dtype=np.uint32)
    drops = model.drops_unknown
    try:
        return BPEEncoder(
            vocab.blob, vocab.offsets, special, merges, model.whole_piece, split, cache_words, drops, before, splittable
        )
    except (ValueError, OverflowError) as error:
        raise VocabError(str(error)) from None
