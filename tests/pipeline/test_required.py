"""Phrases that must come in a text: where the model writes them, or at the end."""

from __future__ import annotations

from typing import Any

import pytest

import generators
from tokkit import pipeline
from tokkit.errors import OptionError

PHRASES = [[70, 71, 72], [5], [71, 9]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("model")))


def comes(phrase: list[int], ids: list[int]) -> bool:
    return any(ids[i : i + len(phrase)] == phrase for i in range(len(ids)))


@pytest.mark.parametrize("options", [{}, {"temperature": 1.5, "seed": 2, "n": 4}, {"num_beams": 3, "n": 3}], ids=str)
@pytest.mark.parametrize("n", [6, 7, 20])
def test_phrases_come_in_every_text(model: Any, n: int, options: dict[str, Any]) -> None:
    for bias in ({}, {300: 50.0}):  # 300 would end the text
        made = model.generate_all(["the cat"], max_new_tokens=n, force_words=PHRASES, logit_bias=bias, **options)[0]
        for text in made:
            assert all(comes(phrase, text.ids) for phrase in PHRASES)
            assert text.reason == ("eos" if text.ids[-1] == 300 else "length")


def test_what_the_model_writes_anyway_changes_nothing(model: Any) -> None:
    ids = model.generate_ids([5, 6, 7], max_new_tokens=10)
    assert model.generate_ids([5, 6, 7], max_new_tokens=10, force_words=[ids[2:5], ids[6:7]]) == ids
    assert model.generate_ids([5, 6, 7], max_new_tokens=12, force_words=[ids[2:5]], prompt_lookup=3)[:10] == ids


def test_words_may_be_text(model: Any) -> None:
    assert " cat far" in model.generate("the", max_new_tokens=8, force_words=[" cat far"])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"force_words": "cat"}, "must be a list"), ({"force_words": [[320]]}, "ids from 0 to 319"),
     ({"force_words": [[]]}, "at least one"), ({"force_words": [[5] * 9], "max_new_tokens": 8}, "has 9 tokens")],
    ids=str,
)  # fmt: skip
def test_words_that_cannot_come_are_refused(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        model.generate("the", **options)
