"""Required phrases occur in the generated text: where the model writes them, or at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import generators
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.nn.required import RequiredPhrases

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


def naive_comes(phrase: Any, ids: list[int]) -> bool:
    return any(comes(each, ids) for each in phrase) if isinstance(phrase[0], list) else comes(phrase, ids)


ALTERNATIVES = [[[70, 71, 72], [9], [71, 72, 73, 74]], [5], [[70, 71], [72, 8, 8]]]


@pytest.mark.parametrize("options", [{}, {"temperature": 2.0, "seed": 2, "n": 4}, {"num_beams": 3, "n": 3}], ids=str)
@pytest.mark.parametrize("n", [4, 5, 6, 15])
def test_one_of_several_phrases_comes_in_every_text(model: Any, n: int, options: dict[str, Any]) -> None:
    bias = {300: 50.0, 70: 4.0, 71: 4.0}  # 300 would end the text; the others begin phrases
    made = model.generate_all(["the cat"], max_new_tokens=n, force_words=ALTERNATIVES, logit_bias=bias, **options)[0]
    for text in made:
        assert all(naive_comes(phrase, text.ids) for phrase in ALTERNATIVES), text.ids


def test_random_walks_end_with_all_phrases() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        phrases: list[Any] = [
            [rng.integers(1, 4, rng.integers(1, 4)).tolist() for _ in range(rng.integers(1, 4))]
            for _ in range(rng.integers(1, 4))
        ]
        needed = sum(min(map(len, any_of)) for any_of in phrases)
        left = needed + int(rng.integers(0, 4))
        state = RequiredPhrases(phrases, vocab_size=4, end_ids=[0], max_new_tokens=left)
        ids: list[int] = []
        for _ in range(left):
            ids.append(int(rng.choice(np.flatnonzero(state.allowed()[1:]) + 1)))
            state.advance(ids[-1])
        assert state.finished, (phrases, ids)
        assert all(naive_comes(phrase, ids) for phrase in phrases)


def test_alternatives_may_be_text_and_what_comes_anyway_changes_nothing(model: Any) -> None:
    ids = model.generate_ids([5, 6, 7], max_new_tokens=10)
    assert model.generate_ids([5, 6, 7], max_new_tokens=10, force_words=[[[319] * 9, ids[2:4]]]) == ids
    made = model.generate("the", max_new_tokens=8, force_words=[[" cat far", " dog on the log"]])
    assert " cat far" in made or " dog on the log" in made
    with pytest.raises(OptionError, match="at least one"):
        model.generate("the", force_words=[["cat", []]])
