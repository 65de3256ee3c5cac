"""Why a word has its tokens: the explanation for each model is what the model does."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import tokkit
from tokkit.errors import OptionError
from tokkit.view.reasons import why
from tokkit.view.stages import changes

TEXT = "low lower lowest newer wider slowest new low"
WORDS = ("lowest", " lower", "slow", "low low", "l\u00f6w\u20ac", "lowlowlow")


def trained(model: str, size: int) -> tokkit.Tokenizer:
    return tokkit.train(iter([TEXT] * 5), model=model, vocab_size=size)


@pytest.fixture(scope="module")
def unigram() -> tokkit.Tokenizer:
    return trained("unigram", 30)


def leaves(tree: dict[str, Any]) -> str:
    return "".join(map(leaves, tree["parts"])) if "parts" in tree else tree["text"]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("model", ["bbpe", "bpe"])
def test_the_trees_of_bpe_are_the_tokens_and_their_leaves_the_symbols(model: str, word: str) -> None:
    tok = trained(model, 270 if model == "bbpe" else 25)
    made = why(tok, word)
    assert made["kind"] == "bpe"
    trees = [tree for each in made["words"] for tree in each["trees"]]
    assert [tree["text"] for tree in trees] == [text for text, _ in made["tokens"]]
    for each in made["words"]:
        assert "".join(map(leaves, each["trees"])) == "".join(each["symbols"])
        steps = [tree for root in each["trees"] for tree in nodes(root) if "step" in tree]
        assert sorted(tree["step"] for tree in steps) == list(range(len(each["steps"])))
        for step, (before, after) in zip(
            each["steps"], itertools.pairwise([each["symbols"], *(s["symbols"] for s in each["steps"])]), strict=True
        ):
            assert len(after) == len(before) - 1
            assert "".join(after) == "".join(before)
            assert step["left"] + step["right"] in after


def nodes(tree: dict[str, Any]) -> list[dict[str, Any]]:
    return [tree, *(node for part in tree.get("parts", ()) for node in nodes(part))]


@pytest.mark.parametrize("word", WORDS)
def test_the_best_path_of_unigram_is_the_models_and_chances_are_of_all_paths(
    unigram: tokkit.Tokenizer, word: str
) -> None:
    made = why(unigram, word)
    assert made["kind"] == "unigram"
    best = [each["pieces"][k]["id"] for each in made["words"] for k in each["best"][0]["pieces"]]
    merged = [id_ for id_, _ in itertools.groupby(best) if id_ is not None]
    known = [id_ for id_, _ in itertools.groupby(unigram.encode(word)) if id_ != unk_of(unigram)]
    assert merged == known
    for each in made["words"]:
        every = paths(each["pieces"], each["n"])
        total = sum(math.exp(score) for score in every)
        assert [path["score"] for path in each["best"]] == pytest.approx(every[: len(each["best"])], abs=1e-3)
        for path, score in zip(each["best"], every, strict=False):
            assert path["chance"] == pytest.approx(math.exp(score) / total, rel=1e-3)


def unk_of(tok: tokkit.Tokenizer) -> int | None:
    model = tok.definition.model
    return model.unk_id


def paths(pieces: list[dict[str, Any]], n: int) -> list[float]:
    """The scores of all ways to cut, the best first."""

    def behind(at: int) -> list[float]:
        if at == n:
            return [0.0]
        return [piece["score"] + rest for piece in pieces if piece["start"] == at for rest in behind(piece["end"])]

    return sorted(behind(0), reverse=True)


def test_a_high_temperature_makes_paths_alike_and_a_low_one_chooses_the_best(unigram: tokkit.Tokenizer) -> None:
    hot, cold = (why(unigram, "lowest", temperature=t)["words"][0]["best"] for t in (50.0, 0.02))
    assert cold[0]["chance"] > 0.99
    assert hot[0]["chance"] < 1.3 * hot[1]["chance"]
    with pytest.raises(OptionError, match="temperature is 0"):
        why(unigram, "a", temperature=0)


@pytest.mark.parametrize("word", WORDS)
def test_the_matches_of_wordpiece_are_its_tokens(word: str) -> None:
    tok = trained("wordpiece", 60)
    made = why(tok, word)
    found = []
    for each in made["words"]:
        if each["unknown"]:
            found.append("[UNK]")
            assert not each["rounds"][-1]["found"]
        else:
            found += [one["tried"][-1] for one in each["rounds"]]
    assert found == [text for text, _ in made["tokens"]]
    assert all(
        tried not in tok.vocab for each in made["words"] for one in each["rounds"] for tried in one["tried"][:-1]
    )


def test_stages_say_what_they_changed() -> None:
    tok = trained("wordpiece", 60)
    stages = {stage["name"]: stage for stage in why(tok, "Low NEW")["stages"]}
    text = "".join(part for sign, part in stages["normalizer"]["changes"] if sign != "-")
    assert text == "".join(stages["normalizer"]["pieces"])
    gone = "".join(part for sign, part in changes("a\u0301b", "ab") if sign == "-")
    assert gone == "\u0301"


def test_models_that_only_look_up_have_no_steps() -> None:
    made = why(trained("word", 20), "low")
    assert (made["kind"], made["words"]) == ("", [])
