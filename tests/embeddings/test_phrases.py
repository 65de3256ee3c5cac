"""Phrases are found, scored and joined as in gensim."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.extras import extra
from tokkit.embeddings.phrases import (
    ENGLISH_CONNECTOR_WORDS,
    Counts,
    FrozenPhrases,
    Phrases,
    npmi_score,
    original_score,
)
from tokkit.errors import FormatError, OptionError


def text(seed: int, n: int = 400) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    words = ["new york", "bank of england", "the", "of", "in", "a", "b", "c", "d"]
    made = [" ".join(rng.choice(words, rng.integers(0, 12))) for _ in range(n)]
    return [line.split() for line in made]


def test_scores_are_those_of_the_formulas() -> None:
    counts = Counts(first=20, last=10, phrase=8, vocab=1000, min_count=5, words=5000)
    assert original_score(counts) == pytest.approx(3 * 1000 / 200)
    joint = 8 / 5000
    expected = math.log(joint / (20 / 5000 * 10 / 5000)) / -math.log(joint)
    assert npmi_score(counts) == pytest.approx(expected)
    assert npmi_score(Counts(1, 1, 1, 3, 1, 1)) == 1
    assert npmi_score(Counts(20, 10, 4, 1000, 5, 5000)) == -math.inf


@pytest.mark.parametrize("connectors", [frozenset(), ENGLISH_CONNECTOR_WORDS])
def test_phrases_are_joined_from_left_to_right(connectors: frozenset[str]) -> None:
    phrases = Phrases(text(0), min_count=3, threshold=0.5, scoring="npmi", connector_words=connectors)
    frozen = phrases.freeze()
    sentence = ["of", "new", "york", "bank", "of", "england", "of", "a"]
    found = phrases[sentence]
    assert found == frozen[sentence]
    assert "new_york" in found
    assert ("bank_of_england" in found) == bool(connectors)
    assert list(phrases[[sentence, []]]) == [found, []]
    joined = phrases[text(1)]
    assert list(joined) == list(joined) == [frozen[sentence] for sentence in text(1)]
    assert phrases.find_phrases(text(0)).items() <= phrases.export_phrases().items()
    both = FrozenPhrases({"a_b": 1.0, "b_c": 2.0})
    assert both[["a", "b", "c"]] == ["a_b", "c"]


def test_files_of_phrases_are_json(tmp_path: Path) -> None:
    frozen = Phrases(text(0), min_count=3, threshold=1, connector_words=ENGLISH_CONNECTOR_WORDS).freeze()
    frozen.save(tmp_path / "p.json")
    assert FrozenPhrases.load(tmp_path / "p.json") == frozen
    (tmp_path / "p.json").write_text("[]")
    with pytest.raises(FormatError, match="not a file of phrases"):
        FrozenPhrases.load(tmp_path / "p.json")


def test_wrong_options_say_what_would_be_right() -> None:
    wrong: list[dict[str, Any]] = [
        {"min_count": 0}, {"threshold": -1}, {"scoring": "x"}, {"scoring": "npmi", "threshold": 2},
    ]  # fmt: skip
    for options in wrong:
        with pytest.raises(OptionError, match="must be"):
            Phrases(**options)
    with pytest.raises(OptionError, match="it must be a list of words"):
        Phrases()["new york"]


@pytest.mark.parity
@pytest.mark.parametrize("scoring", ["default", "npmi"])
@pytest.mark.parametrize("connectors", [frozenset(), ENGLISH_CONNECTOR_WORDS])
def test_phrases_and_scores_are_gensims(scoring: str, connectors: frozenset[str]) -> None:
    models = extra("gensim.models.phrases")
    options: dict[str, Any] = {"min_count": 2, "threshold": 0.1, "scoring": scoring, "connector_words": connectors}
    theirs, ours = models.Phrases(text(0), **options), Phrases(text(0), **options)
    assert ours.export_phrases() == pytest.approx(theirs.export_phrases())
    for sentence in text(5, 200):
        assert ours[sentence] == theirs[sentence]
