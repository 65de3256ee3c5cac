"""Layers and stacks of every kind, compared with a float64 twin and torch; caches, packing, bad input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from extras import extra
from nn.stacks import config_of, draw, weights_of
from reference.rows import bfloat16
from reference.transformer import stack as naive
from tokkit import nn
from tokkit._core.nn.linear import rounds_bfloat16
from tokkit.errors import OptionError, ShapeError

KINDS: list[dict[str, Any]] = [
    {},
    {"pre_norm": True, "causal": True, "activation": "gelu_tanh"},
    {"norm": "rms", "pre_norm": True, "n_kv_heads": 2, "activation": "swiglu", "bias": False, "eps": 1e-6},
    {"n_kv_heads": 1, "activation": "relu", "head_dim": 5},
    {"activation": "geglu", "hidden_dim": 50, "shared_layers": True, "n_layers": 3},
    {"activation": "silu", "norm": "rms", "n_heads": 1},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_an_encoder_is_what_its_formulas_say(options: dict[str, Any]) -> None:
    config = config_of(**options)
    weights, x = weights_of(config), draw(3, 11, 32)
    ignored = np.arange(11) >= np.array([11, 4, 7])[:, None]
    got = nn.Encoder(config, weights)(x, key_padding_mask=ignored)
    np.testing.assert_allclose(got, naive(config, x, weights, ignored=ignored), atol=2e-5)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_decoder_is_what_its_formulas_say(options: dict[str, Any]) -> None:
    config = config_of(**{**options, "cross": True, "causal": True, "memory_dim": 24})
    weights, x, memory = weights_of(config), draw(2, 6, 32), draw(2, 9, 24)
    ignored = np.arange(9) >= np.array([9, 5])[:, None]
    got = nn.Decoder(config, weights)(x, memory, memory_padding_mask=ignored)
    np.testing.assert_allclose(got, naive(config, x, weights, memory, memory_ignored=ignored), atol=2e-5)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_an_encoder_layer_equals_that_of_torch(pre_norm: bool) -> None:
    torch = extra("torch")
    config = nn.TransformerConfig(dim=48, n_heads=6, hidden_dim=100, pre_norm=pre_norm)
    weights = {name.removeprefix("layers.0."): w for name, w in weights_of(config).items()}
    theirs = torch.nn.TransformerEncoderLayer(
        48, 6, 100, 0.0, torch.nn.functional.gelu, batch_first=True, norm_first=pre_norm
    ).eval()
    joined = {
        f"self_attn.in_proj_{part}": np.concatenate([weights[f"attention.{n}.{part}"] for n in "qkv"])
        for part in ("weight", "bias")
    }
    names = {
        "attention.o": "self_attn.out_proj", "feed_forward.up": "linear1", "feed_forward.down": "linear2",
        "attention_norm": "norm1", "feed_forward_norm": "norm2",
    }  # fmt: skip
    for ours, name in names.items():
        joined |= {f"{name}.{part}": weights[f"{ours}.{part}"] for part in ("weight", "bias")}
    theirs.load_state_dict({name: torch.from_numpy(w) for name, w in joined.items()})
    x, ignored = draw(3, 17, 48), np.arange(17) >= np.array([17, 9, 1])[:, None]
    with torch.no_grad():
        expected = theirs(torch.from_numpy(x), src_key_padding_mask=torch.from_numpy(ignored)).numpy()
    got = nn.EncoderLayer(config, weights)(x, key_padding_mask=ignored)
    assert np.abs(got - expected)[~ignored].max() < 1e-5


@pytest.mark.parametrize(
    "options",
    [{}, {"rope": nn.RopeConfig(head_dim=8)}, {"alibi": True}, {"relative_buckets": 8, "relative_distance": 20}],
    ids=str,
)
@pytest.mark.parametrize("kept", [{}, {"capacity": 40}, {"window": 5}], ids=str)
def test_a_cache_gives_what_the_whole_sequence_gives(options: dict[str, Any], kept: dict[str, int]) -> None:
    config = config_of(causal=True, pre_norm=True, n_kv_heads=2, window=kept.get("window"), **options)
    stack, x = nn.Encoder(config, weights_of(config)), draw(2, 40, 32)
    whole = stack(x)
    caches = stack.caches(**kept)
    steps = [9, 1, 1, 12, 3, 14]
    ends = np.cumsum(steps)
    parts = [stack(x[:, end - n : end], caches=caches) for n, end in zip(steps, ends, strict=True)]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, atol=2e-5)
    assert caches[0].length == 40


def test_a_cache_says_when_it_is_full_or_does_not_fit() -> None:
    cache = nn.KVCache(capacity=3)
    cache.append(draw(1, 2, 2, 8), draw(1, 2, 2, 8))
    with pytest.raises(ShapeError, match="room for 3 tokens and contains 2; 2 more"):
        cache.append(draw(1, 2, 2, 8), draw(1, 2, 2, 8))
    with pytest.raises(ShapeError, match="keys have shape"):
        cache.append(draw(1, 1, 1, 8), draw(1, 1, 1, 8))
    cache.clear()
    cache.append(draw(1, 2, 3, 8), draw(1, 2, 3, 8))
    for bad in ({"capacity": 0}, {"window": True}, {"capacity": 2, "window": 2}):
        with pytest.raises(OptionError, match=r"capacity|window"):
            nn.KVCache(**bad)


def test_a_sliding_cache_stays_small_however_long_the_text() -> None:
    cache = nn.KVCache(window=8)
    for i in range(2000):
        keys, _ = cache.append(np.full((1, 1, 1, 4), i, np.float32), np.zeros((1, 1, 1, 4), np.float32))
        assert keys[0, 0, :, 0].tolist() == list(range(max(0, i - 7), i + 1))
    assert keys.base is not None
    assert keys.base.shape[2] <= 128


@pytest.mark.parametrize(
    "options", [{}, {"rope": nn.RopeConfig(head_dim=8)}, {"alibi": True}, {"relative_buckets": 8}], ids=str
)
def test_packed_sequences_give_what_padded_ones_give(options: dict[str, Any]) -> None:
    config = config_of(**options)
    stack, lengths = nn.Encoder(config, weights_of(config)), [4, 1, 30, 9]
    starts, x = np.cumsum([0, *lengths]), draw(4, 30, 32)
    ignored = np.arange(30) >= np.array(lengths)[:, None]
    padded, packed = stack(x, key_padding_mask=ignored), stack(x[~ignored], cu_seqlens=starts)
    np.testing.assert_allclose(packed, padded[~ignored], atol=1e-5)


def test_nan_in_one_sequence_reaches_no_other() -> None:
    config = config_of(causal=True)
    stack, x = nn.Encoder(config, weights_of(config)), draw(3, 12, 32)
    clean = stack(x)
    x[1, 5] = np.nan
    got = stack(x)
    assert np.array_equal(got[[0, 2]], clean[[0, 2]])
    assert np.array_equal(got[1, :5], clean[1, :5]), "nor an earlier token"
    assert np.isnan(got[1, 5:]).all()


@pytest.mark.parametrize(("kind", "least"), [("bfloat16", 0.9999), ("int8", 0.998)])
def test_smaller_weights_point_the_same_way(kind: str, least: float) -> None:
    config = nn.TransformerConfig(dim=128, n_heads=4, n_layers=2)
    weights, x = nn.initial(config.shapes(), seed=1, std=0.05), draw(4, 16, 128)
    full, small = nn.Encoder(config, weights)(x), nn.Encoder(replace(config, dtype=kind), weights)(x)
    cosines = (full * small).sum(-1) / np.linalg.norm(full, axis=-1) / np.linalg.norm(small, axis=-1)
    assert cosines.min() > least
    w, y = draw(5, 128), draw(3, 128)
    if kind == "bfloat16":
        seen = bfloat16(y) if rounds_bfloat16() else y
        assert np.abs(nn.Linear(w, dtype=kind)(y) - np.float64(seen) @ np.float64(bfloat16(w)).T).max() < 1e-4


def test_heads_shared_or_single_are_those_of_the_general_layer() -> None:
    x = draw(1, 5, 16)
    config = nn.TransformerConfig(dim=16, n_heads=1)
    weights = nn.initial(config.attention_shapes(), seed=1, std=0.3)
    assert np.array_equal(nn.SelfAttention(16, weights)(x), nn.MultiHeadAttention(config, weights)(x))
    many = nn.TransformerConfig(dim=16, n_heads=4, n_kv_heads=1)
    weights = nn.initial(many.attention_shapes(), seed=1, std=0.3)
    expected = nn.GroupedQueryAttention(many, weights)(x)
    assert np.array_equal(nn.MultiQueryAttention(replace(many, n_kv_heads=None), weights)(x), expected)
    with pytest.raises(OptionError, match="n_kv_heads"):
        nn.GroupedQueryAttention(replace(many, n_kv_heads=None), weights)


def test_shared_layers_have_one_set_of_weights() -> None:
    config = config_of(shared_layers=True, n_layers=5, causal=True)
    assert {name.split(".")[1] for name in config.shapes()} == {"0"}
    stack = nn.Encoder(config, weights_of(config))
    assert len({id(layer) for layer in stack.layers}) == 1
    assert len(stack.layers) == len(stack.caches()) == 5


def test_threads_change_no_bit_of_a_stack() -> None:
    config = nn.TransformerConfig(dim=128, n_heads=8, n_layers=2, causal=True)
    stack, x = nn.Encoder(config, nn.initial(config.shapes(), seed=1, std=0.05)), draw(4, 200, 128)
    with nn.threads(1):
        alone = stack(x)
    with nn.threads(3):
        assert np.array_equal(stack(x), alone)
    with pytest.raises(OptionError, match="at least 1"), nn.threads(0):
        pass


def test_weights_and_input_that_do_not_fit_are_named() -> None:
    config = config_of()
    weights = weights_of(config)
    stack = nn.Encoder(config, weights)
    with pytest.raises(ShapeError, match=r"\(2, 5, 31\).*\(B, T, 32\)"):
        stack(draw(2, 5, 31))
    with pytest.raises(OptionError, match="cross=True"):
        stack(draw(2, 5, 32), draw(2, 5, 32))
    with pytest.raises(ShapeError, match=r"give a memory \(B, S, 32\)"):
        nn.Decoder(config, weights_of(config_of(cross=True)))(draw(2, 5, 32))
    with pytest.raises(ShapeError, match="there are 3 caches; each of the 2 layers"):
        stack(draw(2, 5, 32), caches=[nn.KVCache() for _ in range(3)])
    lacking = {name: w for name, w in weights.items() if name != "layers.1.attention.k.weight"}
    with pytest.raises(ShapeError, match=r"no 'layers.1.attention.k.weight'; it must have shape \(32, 32\)"):
        nn.Encoder(config, lacking)
    with pytest.raises(ShapeError, match=r"^layers.0.feed_forward.down.weight has shape \(128, 32\)"):
        nn.Encoder(config, weights | {"layers.0.feed_forward.down.weight": draw(128, 32)})
    for bad in ({"n_heads": 5}, {"n_kv_heads": 3}, {"rope": nn.RopeConfig(head_dim=4)}):
        with pytest.raises(ShapeError, match="head"):
            config_of(**bad)
    for bad in ({"activation": "swish"}, {"norm": "group"}, {"dtype": "int3"}, {"dim": 0}):
        with pytest.raises(OptionError, match=r"is .*must be one of|'layer' or|dtype is|at least 1"):
            config_of(**bad)
    with pytest.raises(OptionError, match="cannot be combined"):
        config_of(alibi=True, relative_buckets=32)


def test_nothing_in_gives_nothing_out_of_a_stack() -> None:
    for options in ({}, {"cross": True, "causal": True}):
        config = config_of(**options)
        stack = nn.Encoder(config, weights_of(config))
        memory = draw(0, 4, 32) if "cross" in options else None
        assert stack(draw(0, 5, 32), memory).shape == (0, 5, 32)
    assert stack(draw(2, 0, 32), draw(2, 3, 32)).shape == (2, 0, 32)
