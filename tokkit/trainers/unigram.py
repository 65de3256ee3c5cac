"""The training rounds of Unigram: counted units → pieces and scores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.train.sp_train import PieceRules
from tokkit._core.train.unigram_train import UnigramTrainer
from tokkit._core.train.word_counts import WordCounts
from tokkit.errors import CorpusError
from tokkit.trainers.counts import MAX_TOTAL, Reporter
from tokkit.trainers.options import Round
from tokkit.trainers.state_file import StateFile

SLICES = 64
"""Number of parts of the units: threads take them in order, and Ctrl-C is handled between them."""
MIN_EXPECTED = 1.0
"""Pieces with a lower expected count are left out.

On held-out text, at 8,000 pieces, 1 saved 0.7 % (English), 1.1 % (German), 0.3 % (Japanese) of the tokens compared with
sentencepiece's 0.5, and 2 lost likelihood: benchmarks.bench_train_sentencepiece.
"""
FLOOR = {"digamma": 0.5, "counts": 1e-12}
"""Count of pieces that are kept independent of their expected count: all characters."""
MAX_SUBSTRINGS = (1 << 31) - 1
"""Number of substrings among which given first pieces are found: all."""
LAST_STEPS = 2
STEP_BELOW = 1e-4
EXAMPLES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """The options of a Unigram training; `SentencePieceTraining` documents the fields."""

    n_seeds: int = 1_000_000
    shrinking_factor: float = 0.75
    n_steps: int = 2
    m_step: str = "digamma"
    token_cost: float = (
        6.0  # compared with 0, at 8,000 pieces: tokens -0.7 % (English), -1.1 % (German), -2.3 % (Japanese)
    )
    threads: int = 1
    seeds: Mapping[str, int] | None = None  # piece → count; None: all substrings of the units
    explain: Callable[[Round], object] | None = None


@dataclass(slots=True)
class Done:
    """The progress of a training: rounds, initial number of pieces, last pruned pieces, and reported rounds.

    `absent` are the required characters that the units do not have.
    """

    n_first: int
    absent: list[str] = field(default_factory=list)
    number: int = 0
    pruned: list[str] = field(default_factory=list)
    told: list[Round] = field(default_factory=list)

    @classmethod
    def of(cls, kept: Any) -> Done:
        """Restore the object from the JSON of `asdict`."""
        told = [Round(**{**told, "pruned": tuple(told["pruned"])}) for told in kept["told"]]
        absent = [str(character) for character in kept["absent"]]
        return cls(int(kept["n_first"]), absent, int(kept["number"]), list(kept["pruned"]), told)


def train_unigram(
    units: WordCounts | None,
    rules: PieceRules | None,
    n_pieces: int,
    rounds: Rounds,
    report: Reporter,
    *,
    absent: Sequence[str] = (),
    state: StateFile | None = None,
    folder: bytes | None = None,
) -> tuple[list[str], NDArray[np.float64]]:
    """Return up to `n_pieces` pieces with their scores, the highest first; ties go to the smaller text.

    They include all characters of the units and the `absent` ones, which get the lowest scores. There are fewer pieces
    if the units do not have more. The units are closed. With a `folder`, units and their lattices are in memory-mapped
    files there. With a `state`, the training is saved at the start of rounds; to resume, units and rules are not
    needed.
    """
    if state is not None and state.resumes:
        trainer, kept = state.load(lambda kept: _empty(Done.of(kept), folder))
        done = Done.of(kept)
    else:
        trainer, weights = first_pieces(units, rules, rounds, absent, folder)
        done = Done(len(trainer), list(absent))
        trainer.set(weights / weights.sum())
    run = Run(trainer, rounds, done.told)
    n_first, saved = done.n_first, done.number if state is not None and state.resumes else -1
    n_pieces = max(n_pieces - len(done.absent), run.n_characters)
    report("prune", n_first - len(trainer), n_first - n_pieces, always=True)
    while True:
        size = len(trainer)
        if state is not None and done.number % state.every == 0 and done.number != saved:
            state.save(trainer, asdict(done))
        for _ in range(rounds.n_steps):
            log_likelihood = run.expect()
            run.drop_rare(n_pieces)
            run.maximize()
        run.tell(done.number, size, log_likelihood, done.pruned)
        report("prune", n_first - len(trainer), n_first - n_pieces, always=True)
        if len(trainer) <= n_pieces:
            break
        done.pruned = run.prune(max(n_pieces, int(rounds.shrinking_factor * len(trainer))))
        run.maximize()
        done.number += 1
    for _ in range(LAST_STEPS):
        run.expect()
        run.maximize()
    pieces, scores = run.result()
    # Each one slightly lower than the one before.
    below = scores.min() - STEP_BELOW * np.arange(1, len(done.absent) + 1)
    return [*pieces, *done.absent], np.concatenate([scores, below])


def first_pieces(
    units: WordCounts | None, rules: PieceRules | None, rounds: Rounds, absent: Sequence[str], folder: bytes | None
) -> tuple[UnigramTrainer, NDArray[np.float64]]:
    """Return a trainer with all characters and the first pieces, and the weight of each."""
    if rounds.seeds is None or units is None or rules is None:
        trainer = UnigramTrainer(units, rules, rounds.n_seeds, folder)
        return trainer, np.asarray(trainer.occurrences() * trainer.widths().astype(np.float64), dtype=np.float64)
    never = set(absent)
    valid = [piece for piece in rounds.seeds if len(piece) > 1 and rules.is_valid(piece) and never.isdisjoint(piece)]
    seeds = sorted(valid, key=lambda piece: (-rounds.seeds[piece], piece))[: rounds.n_seeds]  # type: ignore[index]
    for piece in seeds:
        units.add_word(piece.encode(), 0)  # so that it is one of the substrings, even if it always goes on
    trainer = UnigramTrainer(units, rules, MAX_SUBSTRINGS, folder)
    kept, counts = set(seeds), trainer.occurrences().astype(np.float64)
    pieces = trainer.pieces()
    mask = np.array([len(piece) == 1 or piece in kept for piece in pieces], dtype=np.uint8)
    trainer.keep(mask)
    weights = [
        float(rounds.seeds[piece]) if piece in kept else count
        for piece, count, is_kept in zip(pieces, counts.tolist(), mask.tolist(), strict=True)
        if is_kept
    ]
    return trainer, np.array(weights)


def read_seeds(path: str) -> dict[str, int]:
    """Return the pieces and counts of a file, whose lines are a piece, a tab and a count of at least 1.

    CorpusError names the line that is wrong, or a file that cannot be read.
    """
    found: dict[str, int] = {}
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                piece, tab, count = line.rstrip("\r\n").partition("\t")
                if not piece or not tab or not count.isdecimal() or not 0 < int(count) <= MAX_TOTAL:
                    raise CorpusError(
                        f"{path}, line {number}: {line[:80]!r} is invalid; write a piece, a tab and a count"
                    )
                found[piece] = int(count)
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"seed_sentencepieces_file {path!r} cannot be read: {error}") from None
    if not found:
        raise CorpusError(f"{path} has no pieces; write lines of a piece, a tab and a count")
    return found


def _empty(_: Done, folder: bytes | None) -> UnigramTrainer:
    """Return an empty trainer that will be restored."""
    return UnigramTrainer(None, None, 0, folder)


class Run:
    """A trainer with the results of its last E step."""

    def __init__(self, trainer: UnigramTrainer, rounds: Rounds, told: list[Round] | None = None) -> None:
        """Report the earlier rounds again."""
        self.trainer, self.rounds = trainer, rounds
        self.told = [] if told is None else told
        for before in self.told:
            if rounds.explain is not None:
                rounds.explain(before)
        self.n_characters = int(np.count_nonzero(trainer.widths() == 1))
        self.expected: NDArray[np.float64] = np.zeros(0)
        self.scores: NDArray[np.float64] = np.zeros(0)

    def expect(self) -> float:
        """Compute the expected count of each piece; return the log-likelihood of all units."""
        trainer, n = self.trainer, self.trainer.n_units
        tables = [np.zeros(len(trainer), dtype=np.int64) for _ in range(self.rounds.threads)]
        sums = [0] * len(tables)

        def work(worker: int, part: int) -> None:
            start, stop = n * part // SLICES, n * (part + 1) // SLICES
            found, failed = trainer.expect(start, stop, tables[worker])
            sums[worker] += found
            if failed:
                raise ArithmeticError(f"{failed} units have no segmentation")

        in_turn(len(tables), SLICES, work)
        for table in tables[1:]:
            tables[0] += table
        self.expected = np.ldexp(tables[0].astype(np.float64), -trainer.scale)
        return float(np.ldexp(float(sum(sums)), -trainer.log_scale))

    def drop_rare(self, n_pieces: int) -> None:
        """Remove the pieces with low expected counts, but keep at least `n_pieces`."""
        rare = self.expected < MIN_EXPECTED
        rare[: self.n_characters] = False
        missing = n_pieces - int(np.count_nonzero(~rare))
        if missing > 0:
            candidates = np.flatnonzero(rare)
            rare[candidates[np.argsort(-self.expected[candidates], kind="stable")[:missing]]] = False
        if np.any(rare):
            self.keep(~rare)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Remove all other pieces."""
        self.trainer.keep(kept.astype(np.uint8))
        self.expected = self.expected[kept]

    def maximize(self) -> None:
        """Set probabilities from expected counts: with digamma (a flat Dirichlet prior), or from the counts."""
        by = self.rounds.m_step
        counts = np.maximum(self.expected, FLOOR[by])
        total = counts.sum(keepdims=True)
        self.scores = digamma(counts) - digamma(total) if by == "digamma" else np.log(counts) - np.log(total)
        self.trainer.set(np.minimum(np.exp(self.scores), 1.0))

    def prune(self, size: int) -> list[str]:
        """Remove the pieces with the lowest loss, down to `size`.

        Return some of the removed ones with the highest loss.
        """
        trainer, n = self.trainer, len(self.trainer)
        counts = np.maximum(self.expected, FLOOR["counts"])
        losses = np.empty(n)
        total = float(counts.sum())

        def work(_: int, part: int) -> None:
            start, stop = n * part // SLICES, n * (part + 1) // SLICES
            trainer.losses(start, stop, counts, total, self.rounds.token_cost, losses)

        in_turn(self.rounds.threads, SLICES, work)
        losses[: self.n_characters] = np.inf
        order = np.argsort(-losses, kind="stable")
        kept = np.zeros(n, dtype=np.bool_)
        kept[order[:size]] = True
        # They are kept even without `explain`, because a resumed training may report them.
        examples = order[size : size + EXAMPLES].tolist()
        pieces = trainer.pieces(examples)
        self.keep(kept)
        return pieces

    def tell(self, number: int, size: int, log_likelihood: float, pruned: list[str]) -> None:
        """Record a round, and call `explain` with it."""
        tokens = float(self.expected.sum())
        self.told.append(Round(number, size, len(self.trainer), log_likelihood, tokens, tuple(pruned)))
        if self.rounds.explain is not None:
            self.rounds.explain(self.told[-1])

    def result(self) -> tuple[list[str], NDArray[np.float64]]:
        """Return pieces and scores in order."""
        pieces = self.trainer.pieces()
        scores = self.scores
        order = sorted(range(len(pieces)), key=lambda i: (-scores[i], pieces[i]))
        return [pieces[i] for i in order], scores[order]


def in_turn(threads: int, n: int, work: Callable[[int, int], None]) -> None:
    """Call work(worker, part) for each of n parts in several threads; the first error stops all and is raised."""
    parts = iter(range(n))
    lock, errors = threading.Lock(), list[BaseException]()

    def run(worker: int) -> None:
        try:
            for part in shared(parts):
                work(worker, part)
        except BaseException as error:
            errors.append(error)

    def shared(parts: Iterator[int]) -> Iterator[int]:
        while True:
            with lock:
                part = None if errors else next(parts, None)
            if part is None:
                return
            yield part

    helpers = [threading.Thread(target=run, args=(worker,), daemon=True) for worker in range(1, threads)]
    for helper in helpers:
        helper.start()
    run(0)
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]


_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)
"""B(2k) / 2k."""
_ASYMPTOTIC = 8.0


def digamma(x: Any) -> NDArray[np.float64]:
    """Return the derivative of log Γ at positive numbers, to 1e-12: by its recurrence, and by Stirling's series from 8.

    >>> digamma([1.0, 10.0]).round(9).tolist()
    [-0.577215665, 2.251752589]
    """
    x = np.array(x, dtype=np.float64)
    found: NDArray[np.float64] = np.zeros_like(x)
    small = np.flatnonzero(x < _ASYMPTOTIC)
    while len(small):
        found[small] -= 1 / x[small]
        x[small] += 1
        small = small[x[small] < _ASYMPTOTIC]
    found += np.log(x) - 0.5 / x
    square = power = 1 / (x * x)
    for term in _BERNOULLI:
        found -= term * power
        power = power * square
    return found
