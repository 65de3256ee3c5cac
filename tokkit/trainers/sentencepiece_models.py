"""Trains the four SentencePiece models on prepared words: Unigram, BPE, word and char."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tokkit._core.train.sp_train import PieceRules, SentencePieceBPETrainer
from tokkit._core.train.word_counts import WordCounts
from tokkit.errors import CorpusError, OptionError
from tokkit.models.sentencepiece import Kind
from tokkit.trainers.counts import Reporter
from tokkit.trainers.options import Round, choice, number, text
from tokkit.trainers.resumable import Resumable, run_merges
from tokkit.trainers.sentencepiece import Learner, Prepared, SentencePieceTraining
from tokkit.trainers.special_texts import WithForbidden
from tokkit.trainers.state_file import StateFile
from tokkit.trainers.unigram import Rounds, read_seeds, train_unigram
from tokkit.vocab import MAX_ID

SCORE_STEPS = 8
"""Scores of Unigram are multiples of 1/8 nat, so that sums are exact in single precision too, and a .model and a
tokenizer.json agree (formats/sentencepiece_rules.py). At 8,000 pieces, this costs 0.0002 % of the log-likelihood of
held-out English; 1/4 costs 0.002 %.
"""
MERGING_MEMORY = 24
"""Bytes of memory per byte of a distinct unit in BPE: a cell, and two positions of pairs."""
SEEDING_MEMORY = 100
"""Bytes of memory per byte of a distinct unit in Unigram, while its suffixes are sorted and substrings listed."""


@dataclass(frozen=True, kw_only=True)
class UnigramTraining(WithForbidden, Resumable, SentencePieceTraining):
    """The options of a Unigram model: log-probabilities of pieces, estimated by expectation maximisation (EM).

    Training begins with the `seed_sentencepiece_size` substrings whose occurrences cover most characters; or with the
    pieces of `seed_sentencepieces_file`, lines of a piece, a tab and its count, that occur twice or more. Each round
    runs `num_sub_iterations` EM steps and then keeps the share `shrinking_factor` of the pieces: those whose removal
    would lose the most likelihood, plus `token_cost` nats for each additional token. `m_step` computes probabilities
    from expected counts with "digamma", as in sentencepiece, which lowers rare pieces, or from the plain "counts".
    `explain` is called with each round, a `Round`. `Resumable` has the options that save the training, every
    `state_every` rounds; saving and resuming work only for a single vocab_size, on which all rounds depend.

    Pieces and scores differ from sentencepiece's: its last pruning selects pieces by score, this one always by loss;
    and scores here are multiples of 1/8, so that sums are exact and a tokenizer.json gives the same ids as the .model.
    """

    seed_sentencepiece_size: int = 1_000_000
    seed_sentencepieces_file: str | None = None
    shrinking_factor: float = 0.75
    num_sub_iterations: int = 2
    m_step: str = "digamma"
    token_cost: float = 6.0
    explain: Callable[[Round], object] | None = None
    state_every: int = 1

    kind: ClassVar[Kind] = "unigram"
    model_name: ClassVar[str] = "unigram"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_resumable()
        self.check_forbidden()
        self._integer("seed_sentencepiece_size", 1, MAX_ID)
        if self.seed_sentencepieces_file is not None:
            object.__setattr__(self, "seed_sentencepieces_file", os.fspath(self.seed_sentencepieces_file))
            text("seed_sentencepieces_file", self.seed_sentencepieces_file)
        self._integer("num_sub_iterations", 1, 1000)
        number("shrinking_factor", self.shrinking_factor, 0, 0.99, above=True)
        number("token_cost", self.token_cost, 0, 1000)
        choice("m_step", self.m_step, "digamma", "counts")
        if self.explain is not None and not callable(self.explain):
            raise OptionError(f"explain is {self.explain!r}; it must be a function that takes a Round")

    def check_sizes(self, sizes: Sequence[int], given: object) -> None:
        """Raise OptionError for impossible sizes, or for several sizes with a state."""
        super().check_sizes(sizes, given)
        if len(sizes) > 1 and self.state is not None:
            raise OptionError(
                f"vocab_size is {given}; a state of unigram works for one size only: train the sizes one by one"
            )

    def learner(self, found: Prepared, sizes: Sequence[int], report: Reporter, threads: int) -> Learner:
        """Return a function that trains to a number of pieces, and returns the pieces and their scores."""
        self.check_alphabet(sizes, len(found.alphabet))
        rules = self.rules("".join(found.alphabet))
        present = {chr(code) for code, _, _ in found.words.characters()}
        absent = [c for c in found.alphabet if c not in present]
        left = len(sizes)

        def learn(size: int) -> tuple[Sequence[str], Sequence[float]]:
            nonlocal left
            left -= 1
            units = _units(rules, found, last=not left)
            return self._learn(units, rules, size, absent, report, threads)

        return learn

    def resumed(self, state: StateFile, sizes: Sequence[int], report: Reporter, threads: int) -> Learner:
        """Return the same function, continuing from a saved state."""
        return lambda size: self._learn(None, None, size, (), report, threads)

    def _learn(
        self,
        units: WordCounts | None,
        rules: PieceRules | None,
        size: int,
        absent: Sequence[str],
        report: Reporter,
        threads: int,
    ) -> tuple[Sequence[str], Sequence[float]]:
        needed = os.path.getsize(self.state or "") if units is None else SEEDING_MEMORY * (units.n_bytes + len(units))
        rounds = Rounds(
            n_seeds=self.seed_sentencepiece_size,
            shrinking_factor=self.shrinking_factor,
            n_steps=self.num_sub_iterations,
            m_step=self.m_step,
            token_cost=self.token_cost,
            threads=threads,
            seeds=read_seeds(self.seed_sentencepieces_file) if self.seed_sentencepieces_file else None,
            explain=self.explain,
        )
        state, folder = self.state_file(n_pieces=size), self.folder(needed)
        try:
            pieces, scores = train_unigram(
                units, rules, size, rounds, report, absent=absent, state=state, folder=folder
            )
        except OverflowError as error:
            raise CorpusError(f"the corpus is too large to train from at once: {error}") from None
        return pieces, (np.rint(scores * SCORE_STEPS) / SCORE_STEPS).tolist()


@dataclass(frozen=True, kw_only=True)
class BPETraining(WithForbidden, Resumable, SentencePieceTraining):
    """The options of a BPE model, trained as by sentencepiece: results of merges in order, then the characters.

    `Resumable` has the options that save the training and limit its memory.
    """

    kind: ClassVar[Kind] = "bpe"
    model_name: ClassVar[str] = "sp-bpe"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_resumable()
        self.check_forbidden()

    def learner(self, found: Prepared, sizes: Sequence[int], report: Reporter, threads: int) -> Learner:
        """Return a function that trains to a number of pieces, and returns the pieces and their scores."""
        self.check_alphabet(sizes, len(found.alphabet))
        rules = self.rules("".join(found.alphabet))
        units = _units(rules, found, last=True)
        folder = self.folder(MERGING_MEMORY * (units.n_bytes + len(units)))
        trainer = self._trainer(units, list(found.alphabet), sizes, folder)
        return self._learner(trainer, list(found.alphabet), sizes, report, self.state_file())

    def resumed(self, state: StateFile, sizes: Sequence[int], report: Reporter, threads: int) -> Learner:
        """Return the same function, continuing from a saved state."""
        folder = self.folder(os.path.getsize(state.path))
        trainer, alphabet = state.load(lambda alphabet: self._trainer(None, alphabet, sizes, folder))
        return self._learner(trainer, alphabet, sizes, report, state)

    def _trainer(
        self, units: WordCounts | None, alphabet: list[str], sizes: Sequence[int], folder: bytes | None
    ) -> SentencePieceBPETrainer:
        self.check_alphabet(sizes, len(alphabet))
        joined = "".join(alphabet)
        n_merges = max(sizes) - len(self.meta) - len(alphabet)
        try:
            return SentencePieceBPETrainer(units, joined, n_merges, self.rules(joined), folder)
        except OverflowError as error:
            raise CorpusError(f"the corpus is too large to train from at once: {error}") from None

    def _learner(
        self,
        trainer: SentencePieceBPETrainer,
        alphabet: list[str],
        sizes: Sequence[int],
        report: Reporter,
        state: StateFile | None,
    ) -> Learner:
        n_merges = max(sizes) - len(self.meta) - len(alphabet)
        run_merges(trainer, lambda: trainer.n_merges, n_merges, report, state, alphabet)
        merged = [piece.decode() for piece in trainer.pieces()]

        def learn(size: int) -> tuple[Sequence[str], Sequence[float]]:
            pieces = [*merged[: size - len(alphabet)], *alphabet]
            return pieces, [-float(rank) for rank in range(len(pieces))]

        return learn


@dataclass(frozen=True, kw_only=True)
class CharacterTraining(SentencePieceTraining):
    """The options of a model of characters: the most frequent ones are pieces."""

    kind: ClassVar[Kind] = "char"

    def learner(self, found: Prepared, sizes: Sequence[int], report: Reporter, threads: int) -> Learner:
        """Return a function that trains to a number of pieces, and returns the pieces and their scores."""
        total = sum(found.alphabet.values())
        return lambda size: _by_frequency(list(found.alphabet.items()), total, None if self.use_all_vocab else size)


@dataclass(frozen=True, kw_only=True)
class WordTraining(WithForbidden, SentencePieceTraining):
    """The options of a model of words, each with the space before it: the most frequent ones are pieces."""

    kind: ClassVar[Kind] = "word"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_forbidden()

    def learner(self, found: Prepared, sizes: Sequence[int], report: Reporter, threads: int) -> Learner:
        """Return a function that trains to a number of pieces, and returns the pieces and their scores."""
        known = set(found.alphabet)
        counts = [(word.decode(), count) for word, count in found.words.items()]
        total = sum(count for _, count in counts)
        forbidden = self.forbidden_pieces
        kept = [
            (word, count)
            for word, count in counts
            if known.issuperset(word) and not any(text in word for text in forbidden)
        ]
        kept.sort(key=lambda item: (-item[1], item[0]))
        return lambda size: _by_frequency(kept, total, None if self.use_all_vocab else size)


def _by_frequency(
    counts: Sequence[tuple[str, int]], total: int, size: int | None
) -> tuple[Sequence[str], Sequence[float]]:
    """Return the first pieces with the logarithms of their relative frequencies, in single precision."""
    kept = counts[:size]
    log_total = np.float32(math.log(max(total, 1)))
    logs = [np.float32(math.log(count) if count else -math.inf) for _, count in kept]
    return [piece for piece, _ in kept], [float(log - log_total) for log in logs]


def _units(rules: PieceRules, found: Prepared, *, last: bool) -> WordCounts:
    """Return the units of the words, and close the words if they are not needed again."""
    units = rules.units(found.words, found.folder)
    if last:
        found.words.close()
    if not len(units):
        raise CorpusError("the corpus has no text of known characters to train on")
    return units
