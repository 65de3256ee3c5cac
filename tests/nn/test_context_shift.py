"""Old tokens are removed from caches and keys rotated to new positions, as in a float64 twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nn.test_decoder_cache import read, text
from nn.test_text_decoder import model_of
from reference import kv
from tokkit.errors import OptionError
from tokkit.nn.context_shift import shift
from tokkit.nn.decoder_cache import DTYPES
from tokkit.nn.rope import RopeConfig
from tokkit.nn.text_decoder import TextDecoder

BASES = {"Llama": (1e4, 1e4), "Gemma 3": (1e4, 1e6), "GPT-NeoX": (1e4, 1e4), "Mistral": (1e4, 1e4)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("form", "n"), [("Llama", 40), ("GPT-NeoX", 40), ("Gemma 3", 40), ("Gemma 3", 600)])
def test_keys_are_those_of_their_new_positions(form: str, n: int, dtype: str) -> None:
    config, weights = model_of(form)
    decoder = TextDecoder(config, weights, cache_dtype=dtype)
    length = 60 if n == 40 else 720
    _, cache = read(decoder, text(length), *range(length - 20, length))
    keys, values = [[of(layer) for layer in range(2)] for of in (cache.keys, cache.values)]
    first = cache.first
    shift(config, cache, keep=3, n=n)
    assert cache.length == length - n
    dim = config.layers.rope.rotary_dim
    for layer in range(2):
        old = np.arange(first[layer], length)
        kept = (old < 3) | (old >= 3 + n)
        np.testing.assert_array_equal(cache.values(layer), values[layer][:, kept])
        plain = kv.rotated(keys[layer][:, kept], old[kept], BASES[form][layer], dim, sign=-1)
        expected = kv.rotated(plain, old[kept] - n * (old[kept] >= 3 + n), BASES[form][layer], dim)
        step = {"float32": 1e-5, "bfloat16": 1 / 256, "int8": 1.02 / 254}[dtype]
        error = np.abs(cache.keys(layer) - expected) / np.abs(expected).max(-1, keepdims=True)
        assert error.max() < step
    assert cache.first == [0 if not first[0] else max(first[0], 3 + n) - n, 0]


def test_without_a_beginning_to_keep_it_is_the_text_that_is_left() -> None:
    # In one layer keys and values depend on their own token alone.
    config, weights = model_of("Llama", n_layers=1)
    decoder = TextDecoder(config, {name: w for name, w in weights.items() if not name.startswith("layers.1")})
    ids = text(50)
    _, cache = read(decoder, ids)
    shift(config, cache, keep=0, n=20)
    expected, _ = read(decoder, np.append(ids[20:], 7))
    np.testing.assert_allclose(decoder.logits(decoder([[7]], [cache])), expected[-1:], atol=1e-4)


def test_alibi_needs_no_turning() -> None:
    config, weights = model_of("BLOOM", n_layers=1)
    decoder = TextDecoder(config, {name: w for name, w in weights.items() if not name.startswith("layers.1")})
    ids = text(50)
    _, cache = read(decoder, ids)
    shift(config, cache, keep=4, n=20)
    expected, _ = read(decoder, np.concatenate([ids[:4], ids[24:], [7]]))
    np.testing.assert_allclose(decoder.logits(decoder([[7]], [cache])), expected[-1:], atol=1e-4)


def test_models_whose_positions_cannot_change_are_refused() -> None:
    config, weights = model_of("GPT-2")
    _, cache = read(TextDecoder(config, weights), text(30))
    with pytest.raises(OptionError, match=r"learned position embeddings.* cannot be shifted"):
        shift(config, cache, keep=0, n=10)
    config, weights = model_of("Llama")
    _, cache = read(TextDecoder(config, weights), text(30))
    layers = replace(config.layers, rope=RopeConfig(head_dim=8, scaling="dynamic", factor=2.0))
    with pytest.raises(OptionError, match="depend on the length of the text"):
        shift(replace(config, layers=layers), cache, keep=0, n=10)
    with pytest.raises(OptionError, match="20 tokens after the first 15 cannot be dropped from 30"):
        shift(config, cache, keep=15, n=20)
    assert cache.length == 30


def test_a_window_must_not_miss_tokens() -> None:
    config, weights = model_of("Mistral")
    decoder = TextDecoder(config, weights)
    _, cache = read(decoder, text(720), *range(500, 720))
    with pytest.raises(OptionError, match="5 tokens would be left after the dropped ones, but a layer sees 7"):
        shift(config, cache, keep=0, n=715)
    shift(config, cache, keep=0, n=700)
    assert np.isfinite(decoder([[3]], [cache])).all()
