"""Trains a Unigram model as the UnigramTrainer of tokenizers does: the same pieces, and scores equal to rounding.

It is expectation maximization as in SentencePiece, with these differences: seeds are counted in distinct words; rare
characters are lost on the way, and come back at the end with the lowest scores; and sizes include an unknown piece.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.train.unigram_train import LONGEST_PIECE, UnigramTrainer
from tokkit._core.train.word_counts import WordCounts
from tokkit.errors import OptionError
from tokkit.threads import thread_count
from tokkit.trainers.counts import Reporter
from tokkit.trainers.unigram import SLICES, digamma, in_turn

MIN_EXPECTED = 0.5
"""Pieces with a lower expected count are left out."""
UNKNOWN_PENALTY = 10.0
"""The unknown piece, which stands for characters that are lost, scores this much less than all others."""
STEP = 1e-4
"""Difference of the scores of characters that come back."""
MIN_PROBABILITY = 1e-300
BOUNDARY = "\0"
"""The character that separates words in tokenizers; no seed has it."""
Scored = list[tuple[str, float]]
Floats = NDArray[np.float64]


def train(state: dict[str, Any], counts: WordCounts, n_special: int, report: Reporter) -> Scored:
    """Return pieces and scores, the highest first; there may be fewer or more than `vocab_size` less `n_special`.

    Of equal scores, characters come first, by their code points. `counts` are closed.
    """
    words = counts.items()
    characters = {chr(code): times for code, times, _ in counts.characters()}
    required = sorted({*characters, *state["initial_alphabet"]})
    if len(required) > state["vocab_size"]:
        raise OptionError(
            f"vocab_size is {state['vocab_size']}; it must be at least {len(required)}, the number of characters"
        )
    longest = min(state["max_piece_length"], max(len(word.decode()) for word, _ in words))
    if longest >= LONGEST_PIECE:
        raise OptionError(
            f"max_piece_length is {state['max_piece_length']}, and a word has {longest} characters; pieces have at "
            f"most {LONGEST_PIECE - 1}"
        )
    n_seeds = max(1, state["seed_size"] - len(characters))
    trainer = UnigramTrainer(counts, None, n_seeds, longest=max(1, longest))
    run = Run(trainer, characters, sum(times for _, times in words))
    del words
    wanted = state["vocab_size"] * 11 // 10
    n_first = len(run)
    while True:
        before = len(run)
        for _ in range(state["n_sub_iterations"]):
            run.maximize(run.expect())
        report("prune", n_first - len(run), n_first - wanted, always=True)
        if len(run) <= wanted:
            break
        run.prune(max(wanted, int(len(run) * state["shrinking_factor"])))
        if len(run) == before:
            break  # tokenizers would never end
    return _final(run, required, state["vocab_size"] - n_special)


def _final(run: Run, required: list[str], size: int) -> Scored:
    """Return all characters, and the best of the other pieces, sorted by score."""
    found = run.pieces()
    scores = dict(found)
    lost = run.lowest
    made: Scored = []
    for c in required:
        if c in scores:
            made.append((c, scores[c]))
        else:
            made.append((c, lost))
            lost += STEP
    missing = [piece for piece in found if piece[0] not in set(required)]
    # As in tokenizers, the size is no limit where the characters reach it.
    made += missing[: size - len(made)] if size > len(made) else missing
    return sorted(made, key=lambda piece: -piece[1])


class Run:
    """The pieces of a training with their scores; characters stay in the trainer when they are lost."""

    def __init__(self, trainer: UnigramTrainer, characters: dict[str, int], n_words: int) -> None:
        self.trainer, self.n_words, self.threads = trainer, n_words, thread_count(None)
        names, widths = trainer.pieces(), trainer.widths()
        self.n_characters = int(np.count_nonzero(widths == 1))
        self.lost = np.zeros(len(names), dtype=np.bool_)
        seeds = trainer.occurrences() * widths
        for i in range(self.n_characters):
            seeds[i] = characters[names[i]]
            self.lost[i] = names[i] == BOUNDARY
        order = sorted(range(len(names)), key=lambda i: (i < self.n_characters, seeds[i], names[i]), reverse=True)
        self.ranks = np.empty(len(names), dtype=np.int64)
        self.ranks[order] = np.arange(len(names))
        self.scores: Floats = np.log(seeds) - np.log(seeds[~self.lost].sum())
        if any(kept := [BOUNDARY not in name or i < self.n_characters for i, name in enumerate(names)]):
            self._keep(np.array(kept))

    def __len__(self) -> int:
        return 1 + len(self.lost) - int(np.count_nonzero(self.lost))

    @property
    def lowest(self) -> float:
        """The lowest score."""
        return float(self.scores[~self.lost].min(initial=np.inf))

    def pieces(self) -> Scored:
        """Return the pieces in their order, with their scores."""
        names = self.trainer.pieces()
        order = sorted(np.flatnonzero(~self.lost).tolist(), key=lambda i: self.ranks[i])
        return [(names[i], float(self.scores[i])) for i in order]

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        """Remove all other pieces; of characters, mark them as lost."""
        self.lost[: self.n_characters] |= ~kept[: self.n_characters]
        kept[: self.n_characters] = True
        self.trainer.keep(kept.astype(np.uint8))
        self.lost, self.ranks, self.scores = self.lost[kept], self.ranks[kept], self.scores[kept]
        scores = np.where(self.lost, self.lowest - UNKNOWN_PENALTY, self.scores)
        self.trainer.set(np.clip(np.exp(scores), MIN_PROBABILITY, 1.0))

    def _sum(self, add: Any) -> NDArray[np.int64]:
        """Return what add(start, stop, table) sums up over all units."""
        n = self.trainer.n_units
        tables = [np.zeros(len(self.lost), dtype=np.int64) for _ in range(self.threads)]
        in_turn(self.threads, SLICES, lambda worker, k: add(n * k // SLICES, n * (k + 1) // SLICES, tables[worker]))
        total: NDArray[np.int64] = np.sum(tables, axis=0)
        return total

    def expect(self) -> Floats:
        """Return the expected count of each piece."""
        return np.ldexp(self._sum(self.trainer.expect).astype(np.float64), -self.trainer.scale)

    def maximize(self, expected: Floats) -> None:
        """Set scores from expected counts, and remove the pieces that are rare."""
        kept = (expected >= MIN_EXPECTED) & ~self.lost
        self.scores = digamma(np.where(kept, expected, 1.0)) - digamma(expected[kept].sum())
        self._keep(kept)

    def prune(self, size: int) -> None:
        """Remove the pieces with the lowest loss, down to `size`."""
        n = len(self.lost)
        times = self._sum(self.trainer.best).astype(np.float64)
        counts = np.where(self.lost, times[self.lost].sum(), times)
        losses = self._losses(counts, float(times.sum()))
        is_character = np.arange(n) < self.n_characters
        fixed = (is_character & ~self.lost) | (np.isinf(losses) & (times > 0) & ~is_character)
        candidates = np.flatnonzero(~fixed & ~is_character & (times > 0))
        order = candidates[np.lexsort((self.ranks[candidates], -losses[candidates]))]
        first = np.flatnonzero(fixed)
        first = first[np.argsort(self.ranks[first], kind="stable")]
        room = size - 1 - len(first)
        # As in tokenizers, all are kept where there is no room.
        chosen = np.concatenate([first, order if room < 0 else order[:room]])
        kept = np.zeros(n, dtype=np.bool_)
        kept[chosen] = True
        self.ranks[chosen] = np.arange(len(chosen))
        self._keep(kept)

    def _losses(self, counts: Floats, total: float) -> Floats:
        """Return how much log-likelihood is lost without each piece; infinity for those that others divide better.

        tokenizers expects a piece's count to become that of all pieces, not of those that stand for it.
        """
        n = len(self.lost)
        free, priced = np.empty(n), np.empty(n)

        def work(_: int, part: int) -> None:
            start, stop = n * part // SLICES, n * (part + 1) // SLICES
            self.trainer.losses(start, stop, counts, total, 0.0, free, True)
            self.trainer.losses(start, stop, counts, total, 1.0, priced, True)

        in_turn(self.threads, SLICES, work)
        kept = np.isfinite(free) & (counts > 0)
        times = counts[kept]
        parts = np.rint((priced[kept] - free[kept]) / times) + 1
        more = np.log(total + times * (len(self) - 1)) - np.log(total + times * (parts - 1))
        # Rounded, so that equal losses stay equal.
        free[kept] = np.round((free[kept] + times * parts * more) / self.n_words, 12)
        return free
