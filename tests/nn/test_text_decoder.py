"""A decoder in one call of the core, compared with a float64 twin on every instruction set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forced_isa import Forced
from reference.decoder import hidden
from reference.decoder import logits as naive
from tokkit import nn
from tokkit._core.nn.linear import PackedExperts, PackedLinear
from tokkit._core.text import isas
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.decoder_config import DecoderConfig, ExpertsConfig
from tokkit.nn.rope import RopeConfig
from tokkit.nn.text_decoder import TextDecoder

ROPE = RopeConfig(head_dim=8)
LAYERS: dict[str, Any] = {"dim": 32, "n_heads": 4, "n_layers": 2, "pre_norm": True, "causal": True, "norm": "rms"}
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "GPT-2": ({"norm": "layer", "activation": "gelu_tanh"}, {"positions": 400, "tied": True}),
    "Llama": ({"activation": "swiglu", "hidden_dim": 50, "n_kv_heads": 2, "rope": ROPE}, {}),
    "Mistral": ({"activation": "swiglu", "rope": ROPE}, {"windows": (3, 7)}),
    "Qwen 3": ({"activation": "swiglu", "head_dim": 12, "n_kv_heads": 1, "rope": RopeConfig(head_dim=12)},
               {"qk_norm": True, "tied": True}),
    "Gemma 3": ({"activation": "geglu_tanh", "rope": RopeConfig(head_dim=8, base=1e6), "scale": 0.2},
                {"windows": (4, None), "local_rope": ROPE, "qk_norm": True, "part_norms": True,
                 "embedding_scale": 5.5}),
    "GPT-NeoX": ({"norm": "layer", "rope": RopeConfig(head_dim=8, rotary_dim=4)}, {"parallel": True}),
    "GPT-J's pairs": ({"activation": "silu", "rope": RopeConfig(head_dim=8, rotary_dim=6, interleaved=True)}, {}),
    "Gemma 2": ({"activation": "geglu_tanh", "rope": ROPE, "scale": 0.3},
                {"windows": (4, None), "part_norms": True, "cap": 1.5, "logit_cap": 2.0, "tied": True}),
    "Mixtral": ({"activation": "swiglu", "n_kv_heads": 2, "rope": ROPE},
                {"experts": ExpertsConfig(n=5, top=2, hidden_dim=24)}),
    "Qwen 2 of experts": ({"activation": "swiglu", "rope": ROPE, "hidden_dim": 40}, {"experts": ExpertsConfig(
        n=4, top=3, hidden_dim=24, renormalize=False, shared_dim=70, dense=(0,))}),
    "T5's decoder": ({"relative_buckets": 6, "relative_distance": 9, "scale": 1.0, "head_dim": 5},
                     {"head_scale": 0.3, "tied": True}),
    "BART's decoder": ({"norm": "layer", "pre_norm": False}, {"positions": 400, "embedding_norm": True, "tied": True}),
    "BLOOM": ({"norm": "layer", "alibi": True, "activation": "gelu_tanh"}, {"embedding_norm": True, "tied": True}),
}  # fmt: skip


def model_of(form: str, **more: Any) -> tuple[DecoderConfig, dict[str, Any]]:
    layers, options = FORMS[form]
    config = DecoderConfig(layers=nn.TransformerConfig(**{**LAYERS, **layers, **more}), vocab_size=50, **options)
    rng = np.random.default_rng(5)
    weights = {n: w + rng.normal(0, 0.1, w.shape).astype(np.float32) if w.ndim == 1 else w
               for n, w in nn.initial(config.shapes(), seed=3, std=0.3).items()}  # fmt: skip
    for name in list(weights):
        if weights[name].ndim == 2 and config.layers.norm == "layer" and name.startswith("layers."):
            weights[name.removesuffix("weight") + "bias"] = rng.normal(0, 0.1, len(weights[name])).astype(np.float32)
    return config, weights


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("form", FORMS)
def test_whole_or_token_by_token_it_is_what_its_formulas_say(form: str, isa: str) -> None:
    config, weights = model_of(form)
    decoder = TextDecoder(config, weights)
    decoder._decoder = Forced(decoder._decoder, isa)
    ids = np.random.default_rng(0).integers(0, 50, 21)
    expected = naive(config, weights, ids)
    whole = decoder.logits(decoder([ids], [decoder.cache()]))
    np.testing.assert_allclose(whole, expected, atol=2e-4)
    cache = decoder.cache(capacity=21)
    parts = [decoder.logits(decoder([ids[a:b]], [cache])) for a, b in ((0, 6), (6, 7), (7, 8), (8, 20), (20, 21))]
    np.testing.assert_allclose(np.concatenate(parts), expected, atol=2e-4)
    assert cache.length == 21


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(
    ("layers", "options"),
    [
        ({"relative_buckets": 6, "relative_distance": 9, "scale": 1.0, "activation": "geglu_tanh", "head_dim": 5}, {}),
        ({"norm": "layer", "pre_norm": False, "alibi": True}, {}),
        ({"activation": "geglu", "rope": ROPE}, {"windows": (4, None), "qk_norm": True}),
    ],
    ids=["T5", "ALiBi", "windows"],
)
def test_layers_that_see_later_tokens_read_whole_texts(layers: dict[str, Any], options: Any, isa: str) -> None:
    c = nn.TransformerConfig(**{**LAYERS, **layers, "causal": False})
    config = DecoderConfig(layers=c, vocab_size=50, head=False, **options)
    weights = nn.initial(config.shapes(), seed=3, std=0.3)
    encoder = TextDecoder(config, weights)
    encoder._decoder = Forced(encoder._decoder, isa)
    rng = np.random.default_rng(1)
    texts = [rng.integers(0, 50, n) for n in (70, 1, 0, 17)]
    expected = np.concatenate([hidden(config, weights, ids) for ids in texts if len(ids)])
    np.testing.assert_allclose(encoder(texts), expected, atol=2e-4)
    with pytest.raises(OptionError, match="cannot have caches: give whole texts"):
        encoder([[1]], [encoder.cache()])
    with pytest.raises(OptionError, match="no head"):
        encoder.logits(encoder([[1]]))


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("form", ["T5's decoder", "BART's decoder"])
def test_a_decoder_attends_to_the_memory_of_its_cache(form: str, isa: str) -> None:
    config, weights = model_of(form, cross=True, memory_dim=24)
    decoder = TextDecoder(config, weights)
    decoder._decoder = Forced(decoder._decoder, isa)
    rng = np.random.default_rng(1)
    texts = [(rng.integers(0, 50, n), rng.normal(0, 1, (m, 24)).astype(np.float32)) for n, m in ((9, 5), (4, 70))]
    expected = [naive(config, weights, ids, memory) for ids, memory in texts]
    caches = [decoder.cache(memory=decoder.memory(memory)) for _, memory in texts]
    made = decoder.logits(decoder([ids[:-1] for ids, _ in texts], caches))
    np.testing.assert_allclose(made, np.concatenate([each[:-1] for each in expected]), atol=2e-4)
    caches = [cache.copy(room=1) for cache in caches]  # which share their memories
    made = decoder.logits(decoder([ids[-1:] for ids, _ in texts], caches))
    np.testing.assert_allclose(made, np.concatenate([each[-1:] for each in expected]), atol=2e-4)
    with pytest.raises(OptionError, match="give a memory"):
        decoder.cache()
    with pytest.raises(OptionError, match="no caches are given"):
        decoder([[1]])


@pytest.mark.parametrize("form", ["GPT-2", "Llama", "BLOOM", "Mixtral"])
def test_a_text_that_is_not_kept_gives_what_a_cache_gives(form: str) -> None:
    config, weights = model_of(form)
    decoder = TextDecoder(config, weights)
    rng = np.random.default_rng(1)
    texts = [rng.integers(0, 50, n) for n in (300, 1, 0, 77)]
    expected = decoder(texts, [decoder.cache() for _ in texts])
    np.testing.assert_allclose(decoder(texts), expected, atol=1e-5)


@pytest.mark.parametrize("form", ["GPT-2", "Llama", "BLOOM", "Mixtral"])
def test_sequences_side_by_side_give_what_each_gives_alone(form: str) -> None:
    config, weights = model_of(form)
    decoder = TextDecoder(config, weights)
    rng = np.random.default_rng(1)
    # More rows than one chunk has, so that chunks end within sequences.
    texts = [rng.integers(0, 50, n) for n in (300, 1, 0, 77)]
    alone = [decoder([ids], [decoder.cache()]) for ids in texts]
    for threads in (1, 3):
        with nn.threads(threads):
            caches = [decoder.cache() for _ in texts]
            np.testing.assert_allclose(decoder(texts, caches), np.concatenate(alone), atol=1e-5)
            more = decoder([[7], [], [8], [9]], caches)
        assert [cache.length for cache in caches] == [301, 1, 1, 78]
        expected = [decoder([np.append(texts[i], id_)], [decoder.cache()])[-1] for i, id_ in ((0, 7), (2, 8), (3, 9))]
        np.testing.assert_allclose(more, expected, atol=1e-5)


@pytest.mark.parametrize("form", ["Llama", "Gemma 2", "Qwen 2 of experts", "BART's decoder"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("bfloat16", 0.03), ("int8", 0.08)])
def test_smaller_weights_give_nearly_the_same(form: str, dtype: str, tolerance: float) -> None:
    config, weights = model_of(form, dtype=dtype)
    ids = np.arange(20)
    decoder = TextDecoder(config, weights)
    got, expected = decoder.logits(decoder([ids], [decoder.cache()])), naive(config, weights, ids)
    assert np.linalg.norm(got - expected) / np.linalg.norm(expected) < tolerance


def test_states_are_those_after_each_layer() -> None:
    config, weights = model_of("Llama")
    decoder = TextDecoder(config, weights)
    states = np.zeros((2, 5, 32), dtype=np.float32)
    hidden = decoder([[1, 2, 3], [4, 5]], [decoder.cache(), decoder.cache()], states=states)
    one = TextDecoder(
        DecoderConfig(layers=nn.TransformerConfig(**{**LAYERS, **FORMS["Llama"][0], "n_layers": 1}), vocab_size=50),
        {name: w for name, w in weights.items() if not name.startswith("layers.1")},
    )
    np.testing.assert_allclose(one([[1, 2, 3], [4, 5]], [one.cache(), one.cache()]), one._last(states[0]), atol=1e-5)
    np.testing.assert_allclose(hidden, decoder._last(states[1]), atol=1e-6)


def test_a_cache_grows_is_copied_and_cut() -> None:
    config, weights = model_of("Llama")
    decoder = TextDecoder(config, weights)
    ids = np.random.default_rng(2).integers(0, 50, 600)
    grown, whole = decoder.cache(), decoder.cache(capacity=700)
    decoder([ids[:200]], [grown])
    decoder([ids[200:]], [grown])
    decoder([ids], [whole])
    for cache in (grown, whole.copy(room=1), whole):
        for layer in range(2):
            np.testing.assert_allclose(cache.keys(layer), whole.keys(layer), atol=1e-4)
    expected = decoder([[3]], [whole.copy(room=1)])
    np.testing.assert_allclose(decoder([[3]], [grown]), expected, atol=1e-4)
    grown.truncate(600)
    np.testing.assert_allclose(decoder([[3]], [grown]), expected, atol=1e-4)
    assert decoder.cache(capacity=10).nbytes == 2 * 2 * 2 * 10 * 8 * 4
    with pytest.raises(OptionError, match="length is 602; the cache has 601 tokens"):
        grown.truncate(602)


def test_what_does_not_fit_is_refused_and_caches_stay() -> None:
    config, weights = model_of("GPT-2")
    decoder = TextDecoder(config, weights)
    cache, small = decoder.cache(), decoder.cache(capacity=3)
    decoder([[1, 2]], [small])
    for ids, caches, error, message in (
        ([[1, 50]], [cache], IndexError, "the id 50 is outside an embedding table of 50 rows"),
        ([[-1]], [cache], IndexError, "the id -1"),
        ([[1], [2]], [cache], OptionError, "1 caches for 2 sequences"),
        ([[1], [2]], [cache, cache], OptionError, "all different"),
        ([[[1, 2]]], [cache], ShapeError, r"shape \(1, 2\)"),
        ([[1, 2]], [small], ShapeError, "room for 3 tokens and contains 2; 2 more"),
        ([np.zeros(401, int)], [cache], ShapeError, "a sequence of 401 tokens is too long"),
        ([[0.5]], [cache], TypeError, "float64"),
    ):
        with pytest.raises(error, match=message):
            decoder(ids, caches)
    assert (cache.length, small.length) == (0, 2)
    assert decoder([], []).shape == (0, 32)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vocab_size": 0}, OptionError, "vocab_size is 0"),
        ({"windows": (3,)}, ShapeError, "windows has 1 entries for 2 layers"),
        ({"windows": (3, 0)}, OptionError, "a window is 0"),
        ({"local_rope": ROPE}, ShapeError, "local_rope"),
        ({"layers": nn.TransformerConfig(dim=8, n_heads=2), "parallel": True}, OptionError, "pre_norm=True"),
        ({"layers": nn.TransformerConfig(dim=8, n_heads=2, shared_layers=True)}, OptionError, "of their own"),
        ({"layers": nn.TransformerConfig(**LAYERS, window=3)}, OptionError, "give windows"),
    ],
    ids=str,
)
def test_a_configuration_that_cannot_work_is_refused(options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        DecoderConfig(**{"layers": nn.TransformerConfig(**LAYERS), "vocab_size": 9, **options})


def test_experts_that_do_not_fit_are_refused() -> None:
    for sizes, message in (({"top": 5}, "top is 5; there are 4 experts"), ({"hidden_dim": 0}, "hidden_dim is 0")):
        with pytest.raises(OptionError, match=message):
            ExpertsConfig(**{"n": 4, "top": 2, "hidden_dim": 8, **sizes})
    config, weights = model_of("Mixtral")
    name = "layers.0.experts.3.down.weight"
    with pytest.raises(ShapeError, match=name):
        TextDecoder(config, {**weights, name: weights[name][:, 1:]})
    with pytest.raises(ShapeError, match=r"layers\.1\.router\.weight"):
        TextDecoder(config, {n: w for n, w in weights.items() if n != "layers.1.router.weight"})
    with pytest.raises(OptionError, match="experts are for layers with pre_norm=True"):
        DecoderConfig(layers=nn.TransformerConfig(dim=8, n_heads=2), vocab_size=9, experts=config.experts)
    router, up, down = (PackedLinear(np.ones(s, np.float32)) for s in ((2, 8), (6, 8), (8, 6)))
    for pairs, top in (([(up, down)], 1), ([(up, down)] * 2, 3), ([(up, down), (up, up)], 1)):
        with pytest.raises(ValueError, match=r"the router has|up and down of an expert"):
            PackedExperts(router, pairs, top=top, gated=False)


def test_a_weight_that_is_missing_or_has_another_shape_is_named() -> None:
    config, weights = model_of("Llama")
    name = "layers.1.feed_forward.down.weight"
    with pytest.raises(ShapeError, match=name):
        TextDecoder(config, {**weights, name: weights[name][:, 1:]})
    with pytest.raises(ShapeError, match=name):
        TextDecoder(config, {n: w for n, w in weights.items() if n != name})
    with pytest.raises(ShapeError, match=r"word\.weight"):
        TextDecoder(config, {**weights, "word.weight": weights["word.weight"][1:]})
