"""`Unigram`: the Unigram model of tokenizer.json."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokkit import renamed
from tokkit.checks import check_flag
from tokkit.errors import OptionError, VocabError
from tokkit.models import base
from tokkit.vocab import Vocab


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unigram:
    """Unigram: finds the tokens with the highest sum of scores, as tokenizers does (in float64, from 0 per pretoken).

    `scores[i]` is the log probability of the token with the id i; ids from `len(scores)` on do not belong to the model.
    An unknown character scores 10 below the lowest score. Adjacent unknown characters become one token, or with
    `byte_fallback` the tokens of their bytes if all exist. If two tokens are equal, the last one counts.

    >>> from tokkit._core.align import AlignedText
    >>> vocab = Vocab.from_list([b"<unk>", b"a", b"b", b"ab"])
    >>> model = Unigram(scores=[0, -1, -2, -2.5], unk_id=0)
    >>> ids, spans, words = model.encoder(vocab).encode(AlignedText("abaxy"))
    >>> ids.tolist(), spans.tolist()
    ([3, 1, 0], [[0, 2], [2, 3], [3, 5]])
    """

    scores: NDArray[np.float64]
    unk_id: int | None = None
    byte_fallback: bool = False

    def __post_init__(self) -> None:
        try:
            scores = np.array(self.scores, dtype=np.float64)  # a copy, so that nobody can change it
        except (TypeError, ValueError):
            raise OptionError("scores must be numbers, one for each token") from None
        if scores.ndim != 1:
            raise OptionError(f"scores have shape {scores.shape}; it must be (n,)")
        if not np.all(finite := np.isfinite(scores)):
            raise VocabError(f"the score of token {np.argmin(finite)} is {scores[np.argmin(finite)]}; give a number")
        scores.flags.writeable = False
        object.__setattr__(self, "scores", scores)
        check_flag("byte_fallback", self.byte_fallback)
        unk_id = self.unk_id
        if unk_id is not None and (isinstance(unk_id, bool) or not isinstance(unk_id, int)):
            raise OptionError(f"unk_id is {unk_id!r}; it must be an id or None")
        if unk_id is not None and not 0 <= unk_id < len(scores):
            raise VocabError(f"unk_id is {unk_id}; the ids of this model's {len(scores)} tokens start at 0")

    @renamed.keywords(foreign="added_ids")
    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> base.CompiledModel:
        """Build the tables; `added_ids` are ids in the vocabulary that only added tokens have, not the model."""
        if len(self.scores) > vocab.n_ids:
            raise VocabError(f"there are {len(self.scores)} scores for {vocab.n_ids} ids; give at most one for each id")
        marks = base.own_tokens(vocab, added_ids, len(self.scores))
        scores = np.zeros(vocab.n_ids)
        scores[: len(self.scores)] = self.scores
        options: dict[str, object] = {
            "scores": scores,
            "least_score": float(self.scores.min()) if len(self.scores) else 0.0,
            "unknown": self.unk_id,
            "byte_fallback": self.byte_fallback,
        }
        return base.build("unigram", vocab, marks, options)
