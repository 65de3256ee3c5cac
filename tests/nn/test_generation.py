"""The choice of the next token: penalties, filters, draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tokkit.errors import OptionError
from tokkit.nn.generation import Chooser, Sampling, log_probabilities, repeated

LOGITS = np.array([1.0, 3.0, 2.0, -1.0, 3.0, 0.0], dtype=np.float32)


def filtered(logits: np.ndarray, **options: Any) -> dict[int, float]:
    ids, probabilities = Chooser(Sampling(**options)).candidates(np.asarray(logits, dtype=np.float32))
    return dict(zip(ids.tolist(), probabilities.tolist(), strict=True))


def naive(logits: np.ndarray, temperature: float, top_k: int, top_p: float, min_p: float) -> dict[int, float]:
    """All ids in order, dropped one filter after another."""
    left = {i: float(logit) / temperature for i, logit in enumerate(logits)}
    if top_k:
        least = sorted(left.values())[-min(top_k, len(left))]
        left = {i: v for i, v in left.items() if v >= least}

    def shares(of: dict[int, float]) -> dict[int, float]:
        total = sum(math.exp(v - max(of.values())) for v in of.values())
        return {i: math.exp(v - max(of.values())) / total for i, v in of.items()}

    kept, so_far = {}, 0.0
    for i, share in sorted(shares(left).items(), key=lambda item: (-item[1], item[0])):
        if so_far >= top_p:
            break
        kept[i], so_far = left[i], so_far + share
    of_kept = shares(kept)
    return shares({i: v for i, v in kept.items() if of_kept[i] >= min_p * max(of_kept.values())})


@pytest.mark.parametrize("seed", range(60))
def test_filters_leave_what_their_definitions_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, int(rng.integers(1, 700))).astype(np.float32)
    options = {
        "temperature": float(rng.uniform(0.2, 2)), "top_k": int(rng.choice([0, 1, 5, 50])),
        "top_p": float(rng.choice([1.0, 0.99, 0.7, 0.1])), "min_p": float(rng.choice([0.0, 0.05, 0.5])),
    }  # fmt: skip
    got, expected = filtered(logits, **options), naive(logits, **options)
    assert set(got) == set(expected)
    assert all(math.isclose(got[i], expected[i], rel_tol=1e-9) for i in got)
    assert list(got.values()) == sorted(got.values(), reverse=True)


def test_tokens_that_tie_with_the_last_of_top_k_stay() -> None:
    assert set(filtered(LOGITS, top_k=1, temperature=1)) == {1, 4}


def test_greedy_takes_the_lowest_of_equal_ids() -> None:
    assert Chooser(Sampling()).choose(LOGITS) == 1


def test_draws_have_the_distribution_that_the_filters_leave() -> None:
    chooser = Chooser(Sampling(temperature=0.7, top_k=4), seed=0)
    counts = np.bincount([chooser.choose(LOGITS) for _ in range(4000)], minlength=6) / 4000
    expected = filtered(LOGITS, temperature=0.7, top_k=4)
    np.testing.assert_allclose(counts, [expected.get(i, 0) for i in range(6)], atol=0.03)


@pytest.mark.parametrize("n", [6, 128, 300])
def test_draws_from_all_tokens_have_the_probabilities_of_the_softmax(n: int) -> None:
    logits = np.random.default_rng(n).normal(0, 2, n).astype(np.float32)
    chooser = Chooser(Sampling(temperature=0.8, banned=(3, n - 1)), seed=1)
    counts = np.bincount([chooser.choose(logits) for _ in range(4000)], minlength=n) / 4000
    expected = filtered(np.where(np.isin(np.arange(n), (3, n - 1)), -np.inf, logits), temperature=0.8)
    assert counts[3] == counts[n - 1] == 0
    np.testing.assert_allclose(counts, [expected.get(i, 0) for i in range(n)], atol=0.03)


def test_one_seed_gives_one_result() -> None:
    def drawn(seed: Any) -> list[int]:
        chooser = Chooser(Sampling(temperature=1.5), seed=seed)
        return [chooser.choose(LOGITS) for _ in range(20)]

    assert drawn(3) == drawn(3) != drawn(4)


def test_penalties_are_those_of_their_formulas() -> None:
    chooser = Chooser(Sampling(repetition_penalty=2.0, presence_penalty=0.5, frequency_penalty=0.25), prompt=[1, 3])
    for id_ in (2, 2):
        chooser.add(id_)
    # 1 and 3 were in the prompt; 2 was generated twice: 2 / 2 - 0.5 - 2 · 0.25.
    assert chooser.processed(LOGITS).tolist() == [1.0, 1.5, 0.0, -2.0, 3.0, 0.0]
    assert LOGITS.tolist() == [1.0, 3.0, 2.0, -1.0, 3.0, 0.0]


def test_biases_are_added_and_banned_ids_excluded() -> None:
    chooser = Chooser(Sampling(logit_bias={3: 5.0, 0: -math.inf}, banned=(1,)))
    assert chooser.processed(LOGITS).tolist() == [-np.inf, -np.inf, 2.0, 4.0, 3.0, 0.0]
    assert chooser.choose(LOGITS) == 3


def test_sequences_are_banned_where_all_but_their_last_id_has_come() -> None:
    chooser = Chooser(Sampling(banned=((5, 1), (4, 5, 4), (3, 3))), prompt=[4])
    assert np.isfinite(chooser.processed(LOGITS)).all()
    chooser.add(5)
    assert np.flatnonzero(np.isinf(chooser.processed(LOGITS))).tolist() == [1, 4]
    with pytest.raises(OptionError, match="banned contains an empty sequence"):
        Sampling(banned=((),))


def test_forced_ids_come_first_and_the_forced_end_last() -> None:
    sampling = Sampling(forced=(0, 5), forced_eos=3, min_new_tokens=3)
    chooser = Chooser(sampling, prompt=[2], end_ids=[1, 4], max_new_tokens=5)
    made = []
    for _ in range(5):
        made.append(chooser.choose(LOGITS))
        chooser.add(made[-1])
    assert made == [0, 5, 2, 1, 3]


@pytest.mark.parametrize("seed", range(20))
def test_typical_tokens_are_those_nearest_to_the_entropy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, wanted = rng.normal(0, 2, 50).astype(np.float32), float(rng.uniform(0.05, 0.95))
    shares = np.exp(log_probabilities(logits))
    off = np.abs(-np.log(shares) + (shares * np.log(shares)).sum())
    kept, total = set(), 0.0
    for i in np.argsort(off):
        kept.add(int(i))
        total += shares[i]
        if total >= wanted:
            break
    assert set(filtered(logits, typical_p=wanted)) == kept


def test_a_copy_goes_on_by_itself() -> None:
    chooser = Chooser(Sampling(temperature=1.0, no_repeat_ngram_size=1), seed=1)
    other = chooser.copy()
    assert [chooser.choose(LOGITS) for _ in range(5)] == [other.choose(LOGITS) for _ in range(5)]
    other.add(1)
    assert np.isfinite(chooser.processed(LOGITS)).all()


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [([1, 2, 3, 1, 2], 3, [3]), ([1, 2, 1, 3, 1], 2, [2, 3]), ([5, 5], 1, [5]), ([], 2, []), ([1], 3, [])],
)
def test_ngrams_of_the_text_are_not_repeated(text: list[int], n: int, expected: list[int]) -> None:
    assert repeated(text, n) == expected


def test_a_text_without_a_token_left_is_an_error() -> None:
    for temperature in (0, 1):
        with pytest.raises(OptionError, match="no token can be chosen"):
            Chooser(Sampling(banned=tuple(range(6)), temperature=temperature)).choose(LOGITS)
    with pytest.raises(OptionError, match="no token 6; the model has logits for 0 to 5"):
        Chooser(Sampling(banned=(6,))).choose(LOGITS)


@pytest.mark.parametrize(
    "options",
    [{"temperature": -1}, {"top_p": 0}, {"top_p": 1.5}, {"min_p": 2}, {"top_k": -1}, {"repetition_penalty": 0},
     {"typical_p": 2}, {"forced": (-1,)}, {"min_new_tokens": -1}, {"forced_eos": -1}, {"banned": (-1,)},
     {"logit_bias": {1: math.nan}}, {"no_repeat_ngram_size": 1.5}, {"temperature": True}],
    ids=str,
)  # fmt: skip
def test_numbers_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        Sampling(**options)


def test_log_probabilities_add_up_to_one() -> None:
    made = log_probabilities(np.array([[1000.0, 999.0], [-5.0, -5.0]], dtype=np.float32))
    np.testing.assert_allclose(np.exp(made).sum(1), 1)
    np.testing.assert_allclose(made[0], [-math.log1p(math.exp(-1)), -1 - math.log1p(math.exp(-1))])
