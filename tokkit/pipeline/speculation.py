"""Speculative decoding: tokens are proposed cheaply, and the model reads them together (Leviathan et al. 2023).

Greedy texts do not change by a bit, and drawn texts have the same distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokkit.errors import OptionError
from tokkit.nn.generation import Chooser, Distribution

if TYPE_CHECKING:
    from tokkit.pipeline.text_generator import TextGenerator

LONGEST_NGRAM = 6
"""Tokens at the end of a text that are looked for earlier in it, at most (benchmarks/bench_speculation.py)."""
LOOKED_UP = 2
"""Tokens that look-up proposes at first."""
DRAFT_TOKENS = 4
"""Tokens that a draft model proposes at first."""
MOST_TOKENS = 16
"""Tokens that a draft model proposes at most."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed next ids, and the distribution that each was drawn from, if it was drawn."""

    ids: Sequence[int] = ()
    drawn_from: Sequence[Distribution] = ()


class Proposer(Protocol):
    """Proposes the next ids of one text."""

    def propose(self, chooser: Chooser, most: int) -> Proposal:
        """Return a proposal of at most `most` ids to follow the text of the chooser."""

    def judged(self, proposed: int, accepted: int) -> None:
        """Learn how many of the proposed ids were accepted."""


class _Pace:
    """The number of tokens to propose: two more after all were accepted, else one less."""

    def __init__(self, first: int, most: int) -> None:
        self._n, self._most = first, most

    def judged(self, proposed: int, accepted: int) -> None:
        if proposed:
            self._n = min(self._n + 2, self._most) if accepted == proposed else max(self._n - 1, 1)


class PromptLookup(_Pace):
    """Proposes the tokens that followed the last tokens of the text at their previous occurrence in it.

    >>> from tokkit.nn import Sampling
    >>> lookup = PromptLookup(5)
    >>> lookup.propose(Chooser(Sampling(), [1, 2, 3, 9, 1, 2]), most=3).ids
    [3, 9]
    """

    def __init__(self, most: int) -> None:
        super().__init__(min(LOOKED_UP, most), most)
        self._after: dict[tuple[int, ...], int] = {}  # n-gram → the position after its last occurrence
        self._known = 0

    def propose(self, chooser: Chooser, most: int) -> Proposal:
        """Return a proposal of at most `most` ids to follow the text of the chooser."""
        text = list(chooser.text)
        for end in range(self._known, len(text)):
            for n in range(1, min(LONGEST_NGRAM, end) + 1):
                self._after[tuple(text[end - n : end])] = end
        self._known = len(text)
        shortest = 1 if self._n > 1 else 2  # a match of one token is weak, unless recent proposals were accepted
        for n in range(min(LONGEST_NGRAM, len(text)), shortest - 1, -1):
            at = self._after.get(tuple(text[-n:]))
            if at is not None:
                for i in range(min(self._n, most)):
                    text.append(text[at + i])  # a repetition continues through the proposal
                return Proposal(text[self._known :])
        return Proposal()


class DraftModel(_Pace):
    """Proposes what a smaller model of the same tokenizer would write."""

    def __init__(self, model: TextGenerator, vocab_size: int, seed: Sequence[int] | None) -> None:
        super().__init__(DRAFT_TOKENS, MOST_TOKENS)
        self._model, self._vocab_size = model, min(vocab_size, model.decoder.config.vocab_size)
        self._rng = np.random.default_rng(seed)
        self._cache = model.decoder.cache()
        self._read: list[int] = []

    def propose(self, chooser: Chooser, most: int) -> Proposal:
        """Return a proposal of at most `most` ids to follow the text of the chooser."""
        text, decoder = chooser.text, self._model.decoder
        n = min(self._n, most, self._model.max_length - len(text))
        start = _common(self._read, text[:-1])
        if n < 1 or max(text[start:]) >= self._vocab_size:
            return Proposal()
        self._cache.truncate(start)
        drafting, new = chooser.copy(rng=self._rng), list(text[start:])
        self._read = list(text)
        ids: list[int] = []
        drawn_from: list[Distribution] = []
        for _ in range(n):
            logits = decoder.logits(decoder([new], [self._cache])[-1:])[0, : self._vocab_size]
            try:
                id_, distribution = drafting.draw(logits)
            except OptionError:  # no token can be chosen; the model itself will raise it
                break
            ids.append(id_)
            drawn_from.append(distribution)
            if id_ in self._model.eos_ids:
                break
            drafting.add(id_)
            self._read.append(id_)
            new = [id_]
        del self._read[self._cache.length :]
        return Proposal(ids, drawn_from)


def check_draft(model: TextGenerator, draft: TextGenerator) -> None:
    """Raise OptionError unless a draft model has the same tokens as the model."""
    ours, theirs = (
        {*each.tokenizer.vocab.items(), *each.tokenizer.definition.added_vocab.items()} for each in (model, draft)
    )
    differing = {id_ for _, id_ in ours ^ theirs}
    if differing:
        raise OptionError(
            f"the draft model {draft.folder.name} has another vocabulary than {model.folder.name}: {len(differing)} "
            "ids have different tokens; give a model with the same tokenizer"
        )


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    n = min(len(one), len(other))
    return next((i for i in range(n) if one[i] != other[i]), n)
