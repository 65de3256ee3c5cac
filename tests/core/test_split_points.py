"""The ids of chunks cut at split points, concatenated, are the ids of the whole text."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings

from conftest import LONG, SPECIALS
from reference import split, split_points
from strategies import MAKERS, adversarial, documents, texts
from tokkit._core.encode.blocks import split_points as of_core
from tokkit.engine.special_tokens import finder_of
from tokkit.pretokenizers import patterns

if TYPE_CHECKING:
    import tokkit

FINDER = finder_of(SPECIALS)
# Few characters, so that each pair and triple of kinds comes soon.
KINDS = "aAé中⺀〇カ・\u3040\x01ʰ1²\u0301'’.!/ \t\u3000\n\rs\u017fЖ🙂\ue000"


def short_texts(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(KINDS, k=rng.randint(2, 9))) for _ in range(n)]


@pytest.mark.parametrize("pattern", sorted(patterns.CUTTABLE))
def test_both_sides_of_a_split_point_have_the_pieces_of_the_whole(pattern: str) -> None:
    for text in [*short_texts(811, 20_000 if LONG else 3000), *documents(813, 60, longest=60)]:
        pieces = split.split(pattern, text)
        for at in of_core(text).tolist():
            assert split.split(pattern, text[:at]) + split.split(pattern, text[at:]) == pieces, (text, at)


@pytest.mark.parametrize("pattern", sorted(patterns.CUTTABLE))
@given(text=texts(max_size=20))
@settings(max_examples=60)
def test_any_text_may_be_cut_at_all_of_its_split_points_at_once(pattern: str, text: str) -> None:
    bounds = [0, *of_core(text).tolist(), len(text)]
    parts = [split.split(pattern, text[a:b]) for a, b in itertools.pairwise(bounds)]
    assert [piece for part in parts for piece in part] == split.split(pattern, text)


def test_the_core_finds_the_split_points_of_the_naive_twin() -> None:
    for text in [*short_texts(815, 3000), adversarial(817, 20_000)]:
        wanted = split_points.split_points(text)
        assert of_core(text).tolist() == wanted
        bytes_before = np.cumsum([0, *(len(c.encode()) for c in text)])
        assert of_core(text.encode()).tolist() == bytes_before[wanted].tolist()


def test_no_split_point_lies_in_the_text_of_a_special_token() -> None:
    rng = random.Random(819)
    pieces = [*SPECIALS, "<|", "|>", "a b", "<|end", "|>!", " ", "é", "中 ", "x<|endoftext|> y"]
    for _ in range(2000):
        text = "".join(rng.choices(pieces, k=rng.randint(1, 6)))
        wanted = split_points.split_points(text, SPECIALS)
        assert of_core(text, finder=FINDER).tolist() == wanted
        assert of_core(text + "🙂", finder=FINDER).tolist()[: len(wanted)] == wanted
        assert len(of_core(text.encode(), finder=FINDER)) == len(wanted)


def test_special_tokens_with_spaces_in_them_are_never_cut(make_tokenizer: Callable[..., tokkit.Tokenizer]) -> None:
    specials = {"a b": 2000, "b a": 2001, " .": 2002, "a b a b a": 2003}
    tok = make_tokenizer("rank", "cl100k", specials)
    finder = finder_of(specials)
    rng = random.Random(821)
    for _ in range(1000):
        text = "".join(rng.choices(["a", "b", " ", " ", ".", "c "], k=rng.randint(2, 14)))
        bounds = [0, *of_core(text, finder=finder).tolist(), len(text)]
        parts = [tok.encode(text[a:b], special="all") for a, b in itertools.pairwise(bounds)]
        assert [id_ for part in parts for id_ in part] == tok.encode(text, special="all"), text


def test_a_special_token_that_is_very_long_leaves_text_uncut_rather_than_wrong() -> None:
    long = finder_of({"x " * 200: 0})
    assert of_core("a b c", finder=long).tolist() == []
    assert of_core("a b c", finder=finder_of({"x " * 100: 0})).tolist() == [1, 3]


def test_surrogates_are_never_parted() -> None:
    for pair in ("\ud83d\ude42", "\ud83d", "\ude42"):
        text = f"a{pair} {pair}. a"
        for at in of_core(text).tolist():
            assert not any("\ud800" <= c <= "\udfff" for c in text[at - 1 : at + 1]), (text, at)


def test_ordinary_text_has_split_points_everywhere(bundled: str) -> None:
    points = of_core(bundled)
    assert np.diff(points).max() < 400
    for make in MAKERS:
        assert len(of_core("".join(make(random.Random(seed)) + ". " for seed in range(50)))) > 10
