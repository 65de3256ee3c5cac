"""`BPE`: byte-pair encoding over bytes, and its encoder in the core."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tokkit._core.encode.bpe import BPEEncoder
from tokkit.errors import VocabError
from tokkit.vocab import MAX_ID, Vocab

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokkit._core.encode.staged import Stages
    from tokkit._core.split import SplitPattern

WHOLE = 0
"""The scanner that does not split."""

CACHE_WORDS = 1 << 19
"""Maximum number of pretokens of up to 15 bytes in one thread's cache, not counting tokens of the vocabulary. With a
vocabulary of up to 200,000 tokens, this table takes at most 64 MiB; longer pretokens have another table of at most 20
MiB.
"""


@dataclass(frozen=True, slots=True, eq=False)
class BPE:
    """Byte-pair encoding over bytes, as rank BPE or as merge-list BPE.

    `merges` is None for rank BPE (tiktoken): an adjacent pair merges if its joined bytes are a token; the pair with the
    lowest id first, then the leftmost. Otherwise it is a uint32 array of shape (n, 3), the ids of left, right and
    result in order of priority (tokenizers), and only listed pairs merge. With `whole_piece`, a pretoken that is a
    token gets that token's id without merging (always in rank BPE; `ignore_merges` in tokenizer.json). With
    `drops_unknown`, only for merge lists, a byte that is not a token gets no id, and nothing merges across it (GGUF);
    without it every byte must be a token.
    """

    tokens_are_bytes: ClassVar[bool] = True

    merges: np.ndarray | None = None
    whole_piece: bool = True
    drops_unknown: bool = False

    def __post_init__(self) -> None:
        if self.merges is None:
            if self.drops_unknown:
                raise VocabError(
                    "drops_unknown is set for a rank BPE; only merge lists can drop bytes, ranks need a token for "
                    "every byte"
                )
            return
        merges = np.asarray(self.merges)
        if merges.ndim != 2 or merges.shape[1] != 3 or merges.dtype.kind not in "iu":
            raise VocabError(
                f"merges has dtype {merges.dtype} and shape {merges.shape}; it must be ids of shape (n, 3)"
            )
        if merges.size and not 0 <= merges.min() <= merges.max() <= MAX_ID:
            raise VocabError(f"merges hold ids from {merges.min()} to {merges.max()}; ids run from 0 to {MAX_ID}")
        merges = np.array(merges, dtype=np.uint32, order="C")  # a copy, so that nobody can change it
        merges.flags.writeable = False
        object.__setattr__(self, "merges", merges)


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
