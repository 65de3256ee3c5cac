"""Generated text matches a pattern, a schema or a list of choices, whatever the weights."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import generators
import tokkit
from tokkit import pipeline
from tokkit.errors import GrammarError, OptionError
from tokkit.grammars import Json, JsonSchema, Regex

SCHEMA = {
    "type": "object", "required": ["at", "n"], "additionalProperties": False,
    "properties": {"at": {"enum": ["mat", "log", "東京"]}, "n": {"type": "integer", "minimum": 3, "maximum": 250}},
}  # fmt: skip
WAYS: list[dict[str, Any]] = [
    {}, {"temperature": 1.5, "seed": 1}, {"num_beams": 3}, {"prompt_lookup": 3}, {"repetition_penalty": 3.0},
]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("model")))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_text_matches_the_pattern_however_it_is_chosen(model: Any, way: dict[str, Any]) -> None:
    made = model.generate_all(["the cat", "東京"], regex=r"(the|a)( [a-z]{2,4}){1,2}!|東.京", max_new_tokens=30, **way)
    for (text,) in made:
        assert re.fullmatch(r"(the|a)( [a-z]{2,4}){1,2}!|東.京", text.text), text
        assert text.reason in ("eos", "stop")


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_text_is_what_the_schema_describes(model: Any, way: dict[str, Any]) -> None:
    made = json.loads(model.generate("the dog", grammar=JsonSchema(SCHEMA, whitespace="spaced"), **way))
    assert list(made) == ["at", "n"]
    assert made["at"] in ("mat", "log", "東京")
    assert 3 <= made["n"] <= 250


def test_several_texts_are_held_each_by_itself(model: Any) -> None:
    made = model.generate_all(["the cat"], n=8, temperature=20.0, seed=3, choices=["the cat", "the dog", "a", "🦜🦜"])[
        0
    ]
    assert {text.text for text in made} <= {"the cat", "the dog", "a", "🦜🦜"}
    assert len({text.text for text in made}) > 1
    streamed = "".join(model.stream("the cat", temperature=20.0, seed=3, choices=("the cat", "the dog", "a", "🦜🦜")))
    assert streamed == made[0].text


def test_the_most_probable_choice_is_taken_among_single_tokens(model: Any) -> None:
    scores = model.logits("the cat", last=True)
    ids = [model.tokenizer.encode(letter)[0] for letter in "abc"]
    best = "abc"[int(np.argmax(scores[ids]))]
    assert model.generate("the cat", choices=list("abc")) == best


def test_an_end_is_allowed_only_where_the_text_is_whole(model: Any) -> None:
    made = model.generate_all(["the cat"], regex="(the )*mat", logit_bias={300: 1000.0}, max_new_tokens=20)[0][0]
    assert made.text.endswith("mat")
    assert made.reason in ("eos", "stop")


def test_grammars_compiled_before_are_taken_too(model: Any) -> None:
    grammar = Regex("[a-c]{3}")
    one = model.generate("the", grammar=grammar)
    assert (
        one
        == model.generate("the", grammar=grammar.compile(model.tokenizer))
        == model.generate("the", regex="[a-c]{3}")
    )
    text = model.generate("the", grammar=Json(whitespace="compact"), max_new_tokens=5, regex=None)
    assert isinstance(text, str)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regex": "a", "choices": ["b"]}, "choices and regex each set the form of the text"),
        ({"grammar": "a"}, "grammar is 'a'; it must be a grammar of tokkit.grammars"),
        ({"grammar": Regex("a").compile(tokkit.train(iter(["ab"]), vocab_size=257))}, "for another tokenizer"),
        ({"regex": "("}, "unbalanced"),
        ({"schema": {"type": "integer", "minimum": 2, "maximum": 1}}, "no text satisfies the schema at #"),
    ],
)  # fmt: skip
def test_what_no_text_can_be_is_said_before_anything_is_generated(
    model: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        model.generate("the", **options)


def test_tokens_that_are_banned_may_leave_none(model: Any) -> None:
    banned = tuple(model.tokenizer.encode("a"))
    with pytest.raises(OptionError, match="no token can be chosen"):
        model.generate("the", regex="a", banned=banned)
    assert issubclass(GrammarError, OptionError)
