"""Which words get vectors, and their probabilities of being kept and of being drawn as negatives."""

from __future__ import annotations

import numpy as np
import pytest

from tokkit.embeddings.vocabulary import Vocabulary
from tokkit.errors import CorpusError, OptionError, VocabError


def test_words_come_by_falling_counts_and_of_equal_ones_the_last_seen_first() -> None:
    words, counts = ["a", "b", "c", "d", "e"], [2, 5, 2, 1, 5]
    assert Vocabulary.of(words, counts).words == ("e", "b", "c", "a", "d")
    assert Vocabulary.of(words, counts, min_count=2).words == ("e", "b", "c", "a")
    assert Vocabulary.of(words, counts, sorted_vocab=False).words == ("a", "b", "c", "d", "e")
    assert Vocabulary.of(words, counts, max_final_vocab=3).words == ("e", "b")
    assert Vocabulary.of(words, counts, max_final_vocab=4, min_count=3).words == ("e", "b")
    vocabulary = Vocabulary.of(words, counts)
    assert vocabulary["c"] == 2
    assert vocabulary.total == 15
    with pytest.raises(VocabError, match="'x' is not in the vocabulary of 5 words"):
        vocabulary["x"]


def test_a_vocabulary_without_words_says_what_would_help() -> None:
    with pytest.raises(CorpusError, match=r"occurs at least 5 times \(the most frequent of 2 words occurs 3 times"):
        Vocabulary.of(["a", "b"], [3, 1], min_count=5)
    with pytest.raises(CorpusError, match="no words"):
        Vocabulary.of([], [])
    for options in ({"min_count": -1}, {"min_count": 1.5}, {"max_final_vocab": 0}):
        with pytest.raises(OptionError, match="must be an int of at least"):
            Vocabulary.of(["a"], [1], **options)  # type: ignore[arg-type]


def test_updated_vocabularies_keep_ids_and_add_counts() -> None:
    old = Vocabulary.of(["a", "b"], [3, 5])
    new = old.updated(["c", "a", "d"], [4, 1, 1], min_count=2)
    assert (new.words, new.counts.tolist()) == (("b", "a", "c"), [5, 4, 4])
    assert old.counts.tolist() == [5, 3]


def test_frequent_words_are_kept_with_the_probability_of_the_formula() -> None:
    vocabulary = Vocabulary.of(["a", "b", "c"], [900, 99, 1])
    t = 0.01 * 1000
    expected = [min(1.0, (np.sqrt(n / t) + 1) * t / n) for n in (900, 99, 1)]
    np.testing.assert_allclose(vocabulary.keep_probabilities(0.01), expected)
    t = int(50 * (3 + np.sqrt(5)) / 2)
    np.testing.assert_allclose(vocabulary.keep_probabilities(50)[0], (np.sqrt(900 / t) + 1) * t / 900)
    assert vocabulary.keep_probabilities(0).tolist() == [1, 1, 1]
    with pytest.raises(OptionError, match="sample is -1"):
        vocabulary.keep_probabilities(-1)


@pytest.mark.parametrize("exponent", [0.75, 0.0, 1.0, -0.5, 400.0])
def test_negatives_are_drawn_by_powers_of_counts(exponent: float) -> None:
    counts = np.array([5000, 700, 700, 30, 2, 1, 1])
    vocabulary = Vocabulary.of([str(i) for i in range(7)], counts, sorted_vocab=False)
    drawn = np.empty(400_000, dtype=np.uint32)
    vocabulary.negatives(exponent).draw(drawn, 7)
    with np.errstate(over="ignore"):
        weights = (counts / counts.max()) ** exponent
    expected = weights / weights.sum()
    found = np.bincount(drawn, minlength=7) / len(drawn)
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(expected * (1 - expected) / len(drawn)).max() + 1e-6)


def test_negatives_of_a_large_vocabulary_are_those_of_a_search_of_the_cumulated_weights() -> None:
    rng = np.random.default_rng(0)
    counts = np.sort((1e6 / rng.random(5000) ** 2).astype(np.int64).clip(1, 10**9))[::-1]
    vocabulary = Vocabulary(tuple(map(str, range(5000))), counts)
    drawn = np.empty(200_000, dtype=np.uint32)
    vocabulary.negatives().draw(drawn, 1)
    expected = np.cumsum(counts**0.75) / (counts**0.75).sum()
    found = np.cumsum(np.bincount(drawn, minlength=5000)) / len(drawn)
    assert np.abs(found - expected).max() < 1.95 / np.sqrt(len(drawn))  # Kolmogorov: 0.1 %
