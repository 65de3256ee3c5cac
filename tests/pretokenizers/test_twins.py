"""Pretokenizers compared with their naive twins, without the package tokenizers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from reference import pretokenize as naive
from strategies import adversarial, texts
from tokkit._core import split
from tokkit._core.align import AlignedText
from tokkit._core.encode.staged import kinds_of
from tokkit.pretokenizers.behaviors import BEHAVIORS
from tokkit.pretokenizers.bert import Bert
from tokkit.pretokenizers.whitespace import Whitespace


@settings(max_examples=200 if LONG else 80)
@given(
    text=st.text("ab漢🙂", max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=8),
    behavior=st.sampled_from(BEHAVIORS),
    invert=st.booleans(),
)
def test_matches_become_pieces_as_in_the_naive_twin(text: str, cuts: list[int], behavior: str, invert: bool) -> None:
    places = sorted(min(cut, len(text)) for cut in cuts)
    # Two empty matches at one place are not to be had, nor one right behind another match.
    matches = [
        (a, b)
        for k, (a, b) in enumerate(zip(places[::2], places[1::2], strict=False))
        if a < b or not k or a > places[2 * k - 1]
    ]
    aligned = AlignedText(text)
    split.split_by_matches(aligned, lambda piece: matches, BEHAVIORS.index(behavior), invert)
    assert aligned.pieces == naive.behave(text, matches, behavior, invert=invert)


@settings(max_examples=100)
@given(text=texts(max_size=30))
def test_words_and_punctuation_are_cut_as_in_the_naive_twins(text: str) -> None:
    for component, twin in ((Bert(), naive.bert), (Whitespace(), naive.words)):
        aligned = AlignedText(text)
        component.pretokenize(aligned)
        assert aligned.pieces == twin(text, kinds_of)


@pytest.mark.parametrize("seed", range(3))
def test_a_long_text_is_cut_as_in_the_naive_twins(seed: int) -> None:
    text = adversarial(seed, 5000)
    for component, twin in ((Bert(), naive.bert), (Whitespace(), naive.words)):
        aligned = AlignedText(text)
        component.pretokenize(aligned)
        assert aligned.pieces == twin(text, kinds_of)
