"""Seeds and best segmentations for Unigram's training as in tokenizers are those of naive twins."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from tokkit._core.train.sp_train import PieceRules
from tokkit._core.train.unigram_train import UnigramTrainer
from tokkit._core.train.word_counts import WordCounts

MANY = 1 << 20


def counted(units: dict[str, int]) -> WordCounts:
    table = WordCounts()
    for unit, count in units.items():
        table.add_word(unit.encode(), count)
    return table


def branching(units: dict[str, int], longest: int) -> dict[str, int]:
    """Substrings of several characters after which two characters, or one and the end, come; and in how many places."""
    followers: dict[str, list[str]] = {}
    for unit in units:
        for i in range(len(unit)):
            for j in range(i + 2, min(len(unit), i + longest) + 1):
                followers.setdefault(unit[i:j], []).append(unit[j : j + 1])
    return {piece: len(after) for piece, after in followers.items() if len(set(after)) > 1}


@pytest.mark.parametrize("seed", range(20))
def test_seeds_without_rules_are_substrings_that_branch(seed: int) -> None:
    rng = random.Random(seed)
    units = {"".join(rng.choices("ab c", k=rng.randint(1, 9))): rng.randint(1, 5) for _ in range(12)}
    longest = rng.randint(1, 6)
    made = UnigramTrainer(counted(units), None, MANY, longest=longest)
    found = dict(zip(made.pieces(), made.occurrences().tolist(), strict=True))
    several = {piece: n for piece, n in found.items() if len(piece) > 1}
    assert several == branching(units, longest)
    assert {piece for piece in found if len(piece) == 1} == set("".join(units))
    best = sorted(several, key=lambda piece: (several[piece] * len(piece), piece), reverse=True)
    kept = UnigramTrainer(counted(units), None, 3, longest=longest).pieces()
    assert {piece for piece in kept if len(piece) > 1} == set(best[:3])


@pytest.mark.parametrize("seed", range(20))
def test_best_segmentations_are_counted_with_the_longest_last_piece(seed: int) -> None:
    rng = random.Random(seed)
    units = {"".join(rng.choices("abc", k=rng.randint(1, 9))): rng.randint(1, 5) for _ in range(12)}
    made = UnigramTrainer(counted(units), None, MANY, longest=8)
    names = made.pieces()
    chosen = [2.0 ** -rng.randint(1, 4) for _ in names]
    scores = dict(zip(names, map(math.log, chosen), strict=True))
    made.set(np.array(chosen))
    wanted = dict.fromkeys(names, 0)
    for unit, times in units.items():
        paths: list[tuple[float, list[str]]] = [(0.0, [])]
        for end in range(1, len(unit) + 1):
            starts = [start for start in range(end) if unit[start:end] in scores]
            options = [(paths[start][0] + scores[unit[start:end]], [*paths[start][1], unit[start:end]])
                       for start in starts]  # fmt: skip
            paths.append(max(options, key=lambda option: option[0]))  # the first of equals begins earliest
        for piece in paths[-1][1]:
            wanted[piece] += times
    table = np.zeros(len(names), dtype=np.int64)
    for start in range(made.n_units):
        made.best(start, start + 1, table)
    assert dict(zip(names, table.tolist(), strict=True)) == wanted


def test_losses_of_pieces_with_a_better_segmentation_can_be_infinite() -> None:
    made = UnigramTrainer(counted({"ab": 3, "abc": 1, "a": 5, "b": 5}), None, MANY, longest=4)
    names = made.pieces()
    losses, counts = np.empty(len(names)), np.ones(len(names))
    for probability, infinite in ((0.3, False), (0.2, True)):
        made.set(np.array([probability if name == "ab" else 0.5 for name in names]))
        made.losses(0, len(names), counts, 10.0, 0.0, losses, True)
        assert bool(np.isinf(losses[names.index("ab")])) is infinite
        made.losses(0, len(names), counts, 10.0, 0.0, losses)
        assert np.isfinite(losses[names.index("ab")])


def test_best_refuses_tables_and_lengths_that_do_not_fit() -> None:
    made = UnigramTrainer(counted({"ab": 1}), None, MANY, longest=4)
    with pytest.raises(ValueError, match="units 0 to 9 and 2 entries in counts are given"):
        made.best(0, 9, np.zeros(2, dtype=np.int64))
    for rules, longest in ((None, 0), (PieceRules(4), 4)):
        with pytest.raises(ValueError, match="give units with the PieceRules that cut them, or with `longest`"):
            UnigramTrainer(counted({"ab": 1}), rules, MANY, longest=longest)
    with pytest.raises(ValueError, match="longest is 1024; it must be from 1 to 1023"):
        UnigramTrainer(counted({"ab": 1}), None, MANY, longest=1024)
