"""Decimals are read as the same floats as in tokenizers, also in unusual spellings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokkit.files import decimals

tokenizers = pytest.importorskip("tokenizers")


def read_by_tokenizers(texts: list[str]) -> list[float]:
    """Scores of a Unigram model that holds these numbers: it writes its own so that they can be read exactly."""
    tokens = ", ".join(f'["{i}", {text}]' for i, text in enumerate(texts))
    rest = '"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null'
    model = f'{{"type": "Unigram", "unk_id": null, "vocab": [{tokens}]}}'
    text = f'{{"version": "1.0", "truncation": null, "padding": null, {rest}, "model": {model}}}'
    return [score for _, score in json.loads(tokenizers.Tokenizer.from_str(text).to_str())["model"]["vocab"]]


def decimal_texts() -> st.SearchStrategy[str]:
    digits = st.text("0123456789", min_size=1, max_size=25)
    whole = st.integers(0, 10**22).map(str) | st.integers(0, 99).map(str)
    mantissa = st.tuples(st.sampled_from(["", "-"]), whole, digits).map(lambda t: f"{t[0]}{t[1]}.{t[2]}")
    exponent = st.sampled_from(["", "", ""]) | st.integers(-330, 280).map(lambda n: f"e{n}")
    return st.tuples(mantissa, exponent).map("".join)


@settings(max_examples=60)
@given(st.lists(decimal_texts() | st.floats(-30, 0).map(repr).filter(lambda t: "." in t or "e" in t), min_size=1))
def test_numbers_are_read_as_tokenizers_reads_them(texts: list[str]) -> None:
    assert [decimals.read(text) for text in texts] == read_by_tokenizers(texts)


def scores() -> st.SearchStrategy[float]:
    """Floats that some spelling of up to 19 digits is read as."""
    spelt = st.integers(1, (1 << 64) - 1).map(str).flatmap(lambda d: st.integers(0, 22).map(lambda p: f"-{d}.0e-{p}"))
    floats = st.floats(-30, -1e-5) | st.floats(-30, -0.0078125, width=32)
    return (spelt | floats.map(repr)).map(decimals.read)


@settings(max_examples=60)
@given(st.lists(scores(), min_size=1))
def test_scores_are_spelt_so_that_tokenizers_reads_them_back(values: list[float]) -> None:
    spelt = [decimals.write(value) for value in values]
    assert [decimals.read(text) for text in spelt] == values
    assert read_by_tokenizers(spelt) == values
    near = [float(text) for text in spelt]
    assert near == pytest.approx(values, rel=1e-15)


@settings(max_examples=60)
@given(st.lists(st.integers(-(1 << 120), 1 << 120) | st.integers(0, 19).map(lambda n: 7 << 4 * n), min_size=1))
def test_integers_of_any_size_are_read_and_written_as_by_tokenizers(values: list[int]) -> None:
    numbers = [decimals.of_number(value) for value in values]
    assert numbers == read_by_tokenizers([str(value) for value in values])
    assert read_by_tokenizers([decimals.write(number) for number in numbers]) == numbers


def test_numbers_beyond_floats_are_refused_or_become_nothing() -> None:
    assert decimals.read("1.5e-400") == 0.0
    assert decimals.read("0.0e999") == 0.0
    for text in ("1.0e309", "1.5e999"):
        with pytest.raises(ValueError, match="too large"):
            decimals.read(text)
    with pytest.raises(ValueError, match="too large"):
        decimals.of_number(10**400)
