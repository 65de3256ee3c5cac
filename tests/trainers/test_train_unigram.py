"""Unigram's training gives what the naive twin gives, by listing all segmentations."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from reference import unigram_train as twin
from tokkit._core.train.sp_train import PieceRules
from tokkit._core.train.unigram_train import UnigramTrainer
from tokkit._core.train.word_counts import WordCounts
from tokkit.definition import definition_of
from tokkit.models.sentencepiece import NORMAL, UNKNOWN, SentencePieceModel, SentencePieceNormalizer
from tokkit.tokenizer import Tokenizer
from tokkit.trainers.counts import Reporter
from tokkit.trainers.unigram import Rounds, Run, digamma, in_turn, train_unigram
from tokkit.vocab import Vocab

MANY = 1 << 20
HELLO = {"h": 0.1, "e": 0.1, "l": 0.1, "o": 0.1, "he": 0.2, "llo": 0.3, "hello": 0.5}


def counted(units: dict[str, int]) -> WordCounts:
    table = WordCounts()
    for unit, count in units.items():
        table.add_word(unit.encode(), count)
    return table


def trainer_of(units: dict[str, int], longest: int = 16, most: int = MANY) -> UnigramTrainer:
    return UnigramTrainer(counted(units), PieceRules(longest), most)


def with_pieces(units: dict[str, int], pieces: dict[str, float]) -> UnigramTrainer:
    """A trainer that has these pieces, of those that it found."""
    made = trainer_of(units)
    found = made.pieces()
    assert set(pieces) <= set(found)
    made.keep(np.array([piece in pieces for piece in found], dtype=np.uint8))
    made.set(np.array([pieces[piece] for piece in made.pieces()]))
    return made


def expectation(made: UnigramTrainer) -> tuple[dict[str, float], float]:
    table = np.zeros(len(made), dtype=np.int64)
    log_likelihood, failed = made.expect(0, made.n_units, table)
    assert not failed
    expected = np.ldexp(table.astype(float), -made.scale).tolist()
    return dict(zip(made.pieces(), expected, strict=True)), math.ldexp(log_likelihood, -made.log_scale)


def random_units(rng: random.Random, letters: str = "abc", longest: int = 8) -> dict[str, int]:
    most = rng.choice([1, 3, 1000])
    words = {"".join(rng.choices(letters, k=rng.randint(1, longest))) for _ in range(rng.randint(1, 12))}
    return {word: rng.randint(1, most) for word in sorted(words)}


def random_probabilities(rng: random.Random, made: UnigramTrainer) -> dict[str, float]:
    values = [rng.random() + 1e-3 for _ in range(len(made))]
    pieces = {piece: value / sum(values) for piece, value in zip(made.pieces(), values, strict=True)}
    made.set(np.array(list(pieces.values())))
    return pieces


def test_hello_is_one_piece_and_its_segmentations_sum_up() -> None:
    made = with_pieces({"hello": 2, "he": 1}, HELLO)
    hello = 0.5 + 0.2 * 0.3 + 0.2 * 0.1**3 + 0.1**2 * 0.3 + 0.1**5
    expected, log_likelihood = expectation(made)
    assert log_likelihood == pytest.approx(2 * math.log(hello) + math.log(0.2 + 0.01), abs=1e-9)
    assert expected["hello"] == pytest.approx(2 * 0.5 / hello, abs=1e-9)
    assert sum(twin.probability(parts, HELLO) for parts in twin.segmentations("hello", HELLO)) == pytest.approx(hello)
    model = SentencePieceModel(
        kind="unigram",
        pieces=Vocab.from_list([b"<unk>", *(piece.encode() for piece in HELLO)]),
        scores=np.array([0.0, *map(math.log, HELLO.values())]),
        types=np.array([UNKNOWN, *[NORMAL] * len(HELLO)]),
        normalizer=SentencePieceNormalizer(add_dummy_prefix=False),
    )
    tok = Tokenizer(definition_of(model))
    assert [tok.vocab[id_] for id_ in tok.encode("hello")] == [b"hello"]
    assert [tok.vocab[id_] for id_ in tok.encode("hell")] == [b"he", b"l", b"l"]


def test_sums_over_all_segmentations_equal_brute_force() -> None:
    for seed in range(400 if LONG else 80):
        rng = random.Random(seed)
        units = random_units(rng, rng.choice(["ab", "abc", "aé漢🙂"]))
        made = trainer_of(units, rng.choice([1, 2, 4, 16]))
        pieces = random_probabilities(rng, made)
        expected, log_likelihood = expectation(made)
        wanted, wanted_log = twin.expect(units, pieces)
        assert log_likelihood == pytest.approx(wanted_log, rel=1e-9, abs=1e-6), seed
        assert expected == pytest.approx(wanted, rel=1e-6, abs=1e-6), seed


def test_first_pieces_are_those_of_the_naive_twin() -> None:
    for seed in range(600 if LONG else 150):
        rng = random.Random(seed)
        units = random_units(rng, rng.choice(["a", "ab", "abc", "aé漢🙂", "a1", "aβ"]), 20)
        longest = rng.choice([1, 2, 3, 5, 16])
        rules = PieceRules(longest)
        made = UnigramTrainer(counted(units), rules, MANY)
        wanted = twin.seeds(units, longest, rules.is_valid)
        assert dict(zip(made.pieces(), made.occurrences().tolist(), strict=True)) == wanted, seed
        most = rng.randint(1, 9)
        several = [p for p in sorted(wanted, key=lambda p: (-wanted[p] * len(p), len(p), p)) if len(p) > 1]
        kept = set(UnigramTrainer(counted(units), rules, most).pieces())
        assert kept == {p for p in wanted if len(p) == 1} | set(several[:most]), seed


def test_losses_are_those_of_the_naive_twin() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        units = random_units(rng)
        made = trainer_of(units)
        pieces = random_probabilities(rng, made)
        expected = {piece: rng.random() * 9 + 1e-3 for piece in pieces}
        losses, cost = np.empty(len(made)), rng.choice([0.0, 3.0])
        made.losses(0, len(made), np.array(list(expected.values())), sum(expected.values()), cost, losses)
        wanted = [twin.loss(piece, pieces, expected, cost) for piece in pieces]
        assert losses.tolist() == pytest.approx(wanted, rel=1e-9), seed


@settings(max_examples=200 if LONG else 40)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=9), st.integers(1, 50), min_size=1, max_size=8))
def test_with_plain_counts_and_no_pruning_the_likelihood_never_falls(units: dict[str, int]) -> None:
    made = trainer_of(units)
    made.set(np.full(len(made), 1 / len(made)))
    run = Run(made, Rounds(m_step="counts"))
    before = -math.inf
    for _ in range(8):
        log_likelihood = run.expect()
        assert log_likelihood >= before - 1e-6 * (1 + abs(log_likelihood))
        before = log_likelihood
        run.maximize()


def test_a_unit_of_100000_characters_neither_underflows_nor_loses_count() -> None:
    """Of "a" and "aa" with p and q: Z(n) = p Z(n - 1) + q Z(n - 2), some 10^-70000 here."""
    n, p, q = 100_000, 0.2, 1e-3
    made = with_pieces({"a" * n: 3, "aa": 1}, {"a": p, "aa": q})
    expected, log_likelihood = expectation(made)
    one, two, log = p, p * p + q, 0.0
    for _ in range(n - 2):
        one, two = two, p * two + q * one
        if two < 1e-200:
            one, two, log = one * 1e200, two * 1e200, log - 200 * math.log(10)
    assert log_likelihood == pytest.approx(3 * (math.log(two) + log) + math.log(p * p + q), rel=1e-9)
    assert expected["a"] + 2 * expected["aa"] == pytest.approx(3 * n + 2, rel=1e-6)


def test_threads_and_the_order_of_units_change_nothing() -> None:
    rng = random.Random(7)
    units = {"".join(rng.choices("abcdefgh", k=rng.randint(1, 12))): rng.randint(1, 99) for _ in range(800)}
    results = []
    for threads in (1, 2, 3):
        shuffled = list(units.items())
        rng.shuffle(shuffled)
        rounds = Rounds(threads=threads)
        pieces, scores = train_unigram(counted(dict(shuffled)), PieceRules(16), 60, rounds, Reporter(None))
        results.append((pieces, scores.tobytes()))
    assert results[0] == results[1] == results[2]
    assert len(results[0][0]) == 60


def test_all_characters_stay_and_scores_fall() -> None:
    units = {"abcab": 5, "xyz": 1, "ab": 9, "q": 1}
    for m_step in ("digamma", "counts"):
        rules = PieceRules(16)
        pieces, scores = train_unigram(counted(units), rules, 10, Rounds(m_step=m_step), Reporter(None))
        assert set("abcxyzq") <= set(pieces)
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)
        assert np.isfinite(scores).all()
        assert np.exp(scores).sum() <= 1 + 1e-9


def test_a_helper_that_fails_ends_the_others_and_is_heard() -> None:
    def work(_: int, part: int) -> None:
        if part == 3:
            raise MemoryError("three")

    with pytest.raises(MemoryError, match="three"):
        in_turn(3, 1000, work)


def test_digamma_satisfies_its_recurrence() -> None:
    x = np.array([1e-3, 0.5, 1.0, 3.7, 7.999, 8.0, 1e3, 1e9])
    assert digamma(x + 1) - digamma(x) == pytest.approx(1 / x, rel=1e-9, abs=1e-12)
    assert digamma([0.5])[0] == pytest.approx(-1.9635100260214235, abs=1e-12)


@pytest.mark.parametrize("wrong", [np.nan, 0.0, -1.0, 1.5])
def test_probabilities_that_are_none_are_refused(wrong: float) -> None:
    made = trainer_of({"ab": 2})
    with pytest.raises(ValueError, match="probability"):
        made.set(np.full(len(made), wrong))


def test_tables_of_another_size_are_refused() -> None:
    made = trainer_of({"ab": 2})
    for call in (
        lambda: made.expect(0, 1, np.zeros(99, dtype=np.int64)),
        lambda: made.expect(0, 2, np.zeros(len(made), dtype=np.int64)),
        lambda: made.keep(np.zeros(99, dtype=np.uint8)),
        lambda: made.losses(0, 99, np.ones(len(made)), 1.0, 0.0, np.ones(len(made))),
    ):
        with pytest.raises(ValueError, match=r"one (entry )?for each"):
            call()
    with pytest.raises(ValueError, match="max_length"):
        UnigramTrainer(counted({"a": 1}), PieceRules(5000), 9)
