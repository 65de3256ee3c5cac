"""Caches of a decoder: dtypes of keys and values, windows that bound memory, truncation and copies."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

from nn.test_text_decoder import Forced, model_of
from reference import kv
from reference.decoder import logits as naive
from tokkit._core.nn.kv import KV_BACK, KeyValues, kv_rows
from tokkit._core.text import isas
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.decoder_cache import DTYPES, DecoderCache
from tokkit.nn.text_decoder import TextDecoder

TOLERANCE = {"float32": 1e-4, "bfloat16": 0.01, "int8": 0.02}
"""Of the logits of small random models, in parts of their norm."""


def decoder_of(form: str, dtype: str = "float32", isa: str | None = None) -> TextDecoder:
    decoder = TextDecoder(*model_of(form), cache_dtype=dtype)
    if isa is not None:
        inner: Any = Forced(decoder._decoder, isa)
        decoder._decoder = inner
    return decoder


@functools.cache
def expected_of(form: str, n: int) -> np.ndarray:
    """The logits of `text(n)` by the formulas."""
    return naive(*model_of(form), text(n))


def text(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 50, n)


def read(decoder: TextDecoder, ids: np.ndarray, *cuts: int) -> tuple[np.ndarray, DecoderCache]:
    """Logits of a text that is read in parts."""
    cache = decoder.cache()
    edges = [0, *cuts, len(ids)]
    parts = [decoder([ids[a:b]], [cache]) for a, b in itertools.pairwise(edges)]
    return decoder.logits(np.concatenate(parts)), cache


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", ["GPT-2", "Llama", "Mistral", "Qwen 3", "BLOOM"])
def test_logits_are_near_those_of_the_formulas_with_every_type(form: str, dtype: str, isa: str) -> None:
    decoder = decoder_of(form, dtype, isa)
    ids, expected = text(21), expected_of(form, 21)
    for cuts in ((), (6, 7, 8, 20)):
        got, cache = read(decoder, ids, *cuts)
        assert np.linalg.norm(got - expected) / np.linalg.norm(expected) < TOLERANCE[dtype]
    assert cache.dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_how_a_text_is_cut_changes_nothing(dtype: str) -> None:
    # New keys are read from the cache too, as they are kept there.
    decoder = decoder_of("Llama", dtype)
    ids = text(300)
    whole, _ = read(decoder, ids)
    # A key that falls to the other side of a half changes by a whole step of the type.
    few = {"float32": 1e-4, "bfloat16": 5e-3, "int8": 5e-3}[dtype]
    assert np.linalg.norm(read(decoder, ids, 3, 280, 281, 282)[0] - whole) / np.linalg.norm(whole) < few


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_kept_as_their_type_says(dtype: str) -> None:
    rng = np.random.default_rng(0)
    cache = DecoderCache(n_layers=2, kv_heads=3, head_dim=20, dtype=dtype, capacity=7)
    x = (rng.standard_normal((2, 5, 3, 20)) * 10.0 ** rng.integers(-20, 20, (2, 5, 3, 1))).astype(np.float32)
    x[0, 1, 0], x[1, 2, 1, 3] = 0, 1.00390625  # half between two numbers of bfloat16
    cache.packed.write(1, 1, x[0], x[1])
    cache.length = 6
    for got, given in ((cache.keys(1), x[0]), (cache.values(1), x[1])):
        expected = kv.stored(dtype, given.swapaxes(0, 1))
        step = 0 if dtype != "int8" else 1.01 / 127 * np.abs(expected).max(-1, keepdims=True)
        assert (np.abs(got[:, 1:] - expected) <= step).all()
        assert (np.abs(got[:, 1:] - expected) <= 1e-6 * np.abs(expected)).mean() > 0.99
    for bad in (np.nan, np.inf):
        x[0, 2, 1, 4] = bad
        cache.packed.write(0, 0, x[0])
        assert not np.isfinite(cache.keys(0)[1, 2]).all()
        assert np.isfinite(cache.keys(0)[0, :5]).all()


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", DTYPES)
def test_layers_with_windows_keep_few_tokens_and_lose_none_that_they_see(dtype: str, isa: str) -> None:
    decoder = decoder_of("Gemma 3", dtype, isa)
    ids, expected = text(720), expected_of("Gemma 3", 720)
    for cuts in ((), (1, 2, 300), (500, *range(690, 720, 2))):
        got, cache = read(decoder, ids, *cuts)
        assert np.linalg.norm(got - expected) / np.linalg.norm(expected) < TOLERANCE[dtype], cuts
    rows = [layer.keys.shape[1] for layer in cache._layers]
    assert rows[0] == kv_rows(10**6, 4) < 400 < 720 <= rows[1]
    assert cache.first[0] > 0
    assert cache.first[1] == 0
    assert cache.nbytes < 1.4 * decoder_of("Llama", dtype).cache(capacity=rows[1]).nbytes


def test_what_a_window_has_left_cannot_come_back() -> None:
    decoder = decoder_of("Mistral")
    ids, expected = text(600), expected_of("Mistral", 600)
    _, cache = read(decoder, ids, *range(400, 600))
    first = max(cache.first)
    assert 0 < first <= 600 - KV_BACK
    assert not cache.can_truncate(first)
    with pytest.raises(OptionError, match=rf"length is {first}; of 600 tokens, layers with windows .* from {first} on"):
        cache.truncate(first)
    with pytest.raises(OptionError, match=f"the cache has 600 tokens, from {first} on"):
        cache.copy(length=first)
    half = cache.copy(length=580)
    for other, n in ((half, 580), (cache, 560)):
        other.truncate(n)
        np.testing.assert_allclose(decoder.logits(decoder([ids[n:]], [other])), expected[n:], atol=1e-3)
    cache.truncate(0)
    np.testing.assert_allclose(decoder.logits(decoder([ids[:30]], [cache])), expected[:30], atol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_caches_grow_to_their_capacity_and_copies_are_their_own(dtype: str) -> None:
    decoder = decoder_of("Llama", dtype)
    ids = text(600)
    expected, whole = read(decoder, ids)
    cache = decoder.cache(capacity=600)
    decoder([ids[:500]], [cache])
    copy = cache.copy()
    assert copy.nbytes < cache.nbytes
    decoder([text(30, seed=3)], [cache])
    np.testing.assert_array_equal(copy.keys(1), cache.keys(1)[:, :500])
    got = decoder.logits(decoder([ids[500:]], [copy]))
    assert np.linalg.norm(got - expected[500:]) / np.linalg.norm(expected[500:]) < 5e-3
    with pytest.raises(ShapeError, match="room for 600 tokens and contains 600; 1 more"):
        decoder([[1]], [copy])
    part = whole.copy(length=500, room=100)
    np.testing.assert_array_equal(part.values(0), whole.values(0)[:, :500])


def test_memory_is_that_of_the_type() -> None:
    sizes = {dtype: decoder_of("Llama", dtype).cache(capacity=100).nbytes for dtype in DTYPES}
    rows = 2 * 2 * 2 * 100  # layers, keys and values, heads, tokens
    assert sizes == {"float32": rows * 8 * 4, "bfloat16": rows * 8 * 2, "int8": rows * (8 + 4)}
    with pytest.raises(OptionError, match="the type of a cache is 'int4'; it must be one of float32, bfloat16, int8"):
        decoder_of("Llama", "int4")


def test_arrays_that_do_not_fit_are_refused_by_the_core() -> None:
    rows = np.zeros((2, 4, 8), np.float32)
    for layers, message in (
        ([], "there are 0 layers"),
        ([(rows, rows[:1], None, None)], "keys and values of layer 0"),
        ([(rows, rows, None, None), (rows[:, :, :4].copy(),) * 2 + (None, None)], "layer 1 has 2 heads of 4"),
        ([(np.zeros((2, 4, 8), np.int8),) * 2 + (rows[0], rows[0])], "the scales of layer 0"),
    ):
        with pytest.raises(ValueError, match=message):
            KeyValues(layers, [0] * len(layers))
    held = KeyValues([(rows, rows.copy(), None, None)], [0])
    for layer, row, given, message in (
        (1, 0, rows, "layer is 1"), (0, 0, rows, "the rows have"),
        (0, 2, np.zeros((3, 2, 8), np.float32), "do not fit in layer 0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            held.write(layer, row, given)
