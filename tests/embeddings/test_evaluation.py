"""Analogies and word similarity: right and wrong answers, skipped questions, correlations and p-values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tokkit.embeddings import KeyedVectors
from tokkit.embeddings.correlation import pearson, spearman
from tokkit.embeddings.evaluation import analogies, pairs
from tokkit.errors import FormatError, OptionError

NAMES = ["man", "woman", "king", "queen", "boy", "girl", "stone"]
VECTORS = [[1, 0, 1], [1, 1, 1], [2, 0, 0.2], [2, 1, 0.2], [1, 0, 5], [1, 1, 5], [-9, 0, 0]]


def words() -> KeyedVectors:
    return KeyedVectors.of(NAMES, np.array(VECTORS, dtype=np.float32))


def test_right_and_wrong_answers_are_counted_by_section(tmp_path: Path) -> None:
    path = tmp_path / "questions"
    path.write_text(
        ": royal\nman woman king queen\nman woman boy stone\n: other\nMAN WOMAN BOY girl\nman king x y\na b\n"
    )
    score, sections = words().evaluate_word_analogies(path)
    assert score == pytest.approx(2 / 3)
    assert [section["section"] for section in sections] == ["royal", "other", "Total accuracy"]
    assert sections[0]["correct"] == [("MAN", "WOMAN", "KING", "QUEEN")]
    assert sections[0]["incorrect"] == [("MAN", "WOMAN", "BOY", "STONE")]
    assert len(sections[2]["correct"]) == 2
    result = analogies(words(), path, case_insensitive=False)
    assert (result.n_unknown, result.n_invalid) == (2, 1)
    assert words().evaluate_word_analogies(path, dummy4unknown=True)[0] == pytest.approx(2 / 4)
    assert words().evaluate_word_analogies(path, restrict_vocab=4)[1][-1]["incorrect"] == []


def test_files_without_questions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "questions"
    for text, message in (("man woman king queen\n", "line 1: a section"), (": a\nb c\n", "no analogies")):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            words().evaluate_word_analogies(path)
    path.write_bytes(b": a\n\xff b c d\n")
    with pytest.raises(FormatError, match="line 2 is not utf8"):
        words().evaluate_word_analogies(path)
    with pytest.raises(OptionError, match="similarity_function"):
        words().evaluate_word_analogies(path, similarity_function="most_similar_cosmul")
    path.write_text("a\tb\t1\n")
    with pytest.raises(FormatError, match="no pair of known words"):
        words().evaluate_word_pairs(path)


def test_judged_pairs_are_compared_and_the_unknown_counted(tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    path.write_text("# judged\na,b,Human\nman,Woman,9\nman,stone,1\nking,queen,8\nking,x,5\nboy,girl,nan\n")
    found = pairs(words(), path, delimiter=",")
    assert (found.n, found.n_unknown, found.n_invalid) == (3, 1, 2)
    assert found.oov_ratio == 25
    assert found.pearson.statistic > 0.9
    assert pairs(words(), path, delimiter=",", dummy4unknown=True).n == 4


def test_correlations_have_the_p_values_of_tables() -> None:
    # r = 0.5760 with n = 12 and r = 0.3494 with n = 32 are the two-sided 5 % bounds of printed tables.
    for r, n in ((0.5760, 12), (0.3494, 32), (0.8783, 5)):
        x = np.arange(n) - (n - 1) / 2
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        y -= y.mean() + x * (x @ y) / (x @ x)
        found = pearson(x, x / np.linalg.norm(x) * r + y / np.linalg.norm(y) * math.sqrt(1 - r * r))
        assert found.statistic == pytest.approx(r)
        assert found.pvalue == pytest.approx(0.05, abs=2e-4)
    assert pearson([1, 2, 3], [2, 4, 6]) == (pytest.approx(1), pytest.approx(0, abs=1e-6))
    assert math.isnan(pearson([1, 2], [1, 1]).statistic)
    assert spearman([1, 10, 100, 100], [0, 2, 5, 5]).statistic == pytest.approx(1)
