"""The effect of each option of layers and stacks, and the errors for options that do not apply."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from nn.stacks import config_of, draw, weights_of
from reference.transformer import stack as naive
from tokkit import nn
from tokkit.errors import OptionError, ShapeError

ROPE = nn.RopeConfig(head_dim=8)


@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize("rope", [None, ROPE])
def test_an_encoder_tells_the_weights_of_every_layer_and_head(pre_norm: bool, rope: nn.RopeConfig | None) -> None:
    config = config_of(pre_norm=pre_norm, rope=rope, n_kv_heads=2)
    stack, x = nn.Encoder(config, weights_of(config)), draw(3, 5, 32)
    ignored = np.arange(5) >= np.array([5, 2, 4])[:, None]
    out, weights = stack(x, key_padding_mask=ignored, return_weights=True)
    assert np.array_equal(out, stack(x, key_padding_mask=ignored))
    assert weights.shape == (2, 3, 4, 5, 5)
    for i, layer in enumerate(stack.layers):
        seen = layer.norms["attention"](x) if pre_norm else x
        _, alone = layer.attention(seen, key_padding_mask=ignored, return_weights=True)
        assert np.array_equal(weights[i], alone)
        x, again = layer(x, key_padding_mask=ignored, return_weights=True)
        assert np.array_equal(again, alone)
    assert not weights.transpose(0, 2, 3, 1, 4)[..., ignored].any()


def test_a_decoder_tells_the_weights_on_itself_and_on_the_memory() -> None:
    config = config_of(cross=True, causal=True, memory_dim=24)
    stack, x, memory = nn.Decoder(config, weights_of(config)), draw(2, 5, 32), draw(2, 7, 24)
    ignored = np.arange(7) >= np.array([7, 4])[:, None]
    out, own, across = stack(x, memory, memory_padding_mask=ignored, return_weights=True)
    assert np.array_equal(out, stack(x, memory, memory_padding_mask=ignored))
    assert (own.shape, across.shape) == ((2, 2, 4, 5, 5), (2, 2, 4, 5, 7))
    assert not np.triu(own, 1).any()
    assert not across[:, 1, :, :, 4:].any()
    np.testing.assert_allclose(across.sum(-1), 1, atol=1e-6)
    layer = stack.layers[0]
    first, of_first = layer.attention(x, residual=x, return_weights=True)
    assert np.array_equal(own[0], of_first)
    y = layer.norms["attention"](first)
    assert np.array_equal(across[0], layer.cross(y, memory, key_padding_mask=ignored, return_weights=True)[1])
    caches = stack.caches()
    for i in range(5):
        _, step, _ = stack(x[:, i : i + 1], memory, memory_padding_mask=ignored, caches=caches, return_weights=True)
        np.testing.assert_allclose(step[:, :, :, 0], own[:, :, :, i, : i + 1], atol=1e-6)


def test_weights_of_packed_sequences_are_refused() -> None:
    stack = nn.Encoder(config_of(), weights_of(config_of()))
    with pytest.raises(OptionError, match="not cu_seqlens"):
        stack(draw(5, 32), cu_seqlens=[0, 2, 5], return_weights=True)


@pytest.mark.parametrize("options", [{}, {"rope": ROPE}, {"alibi": True}, {"relative_buckets": 8}], ids=str)
def test_packed_decoders_give_each_sequence_its_own_memory(options: dict[str, Any]) -> None:
    config = config_of(cross=True, causal=True, memory_dim=24, n_kv_heads=2, **options)
    stack = nn.Decoder(config, weights_of(config))
    starts, of_memory = [0, 4, 10, 11], [0, 7, 8, 20]
    x, memory = draw(11, 32), draw(20, 24)
    got = stack(x, memory, cu_seqlens=starts, memory_cu_seqlens=of_memory)
    for (a, b), (c, d) in zip(pairwise(starts), pairwise(of_memory), strict=True):
        np.testing.assert_allclose(got[a:b], stack(x[None, a:b], memory[None, c:d])[0], atol=1e-5)


def test_packed_decoders_want_to_know_whose_memory_is_whose() -> None:
    config = config_of(cross=True, causal=True)
    stack, x, memory = nn.Decoder(config, weights_of(config)), draw(10, 32), draw(8, 32)
    with pytest.raises(OptionError, match="give memory_cu_seqlens"):
        stack(x, memory, cu_seqlens=[0, 4, 10])
    with pytest.raises(OptionError, match="needs cross-attention and the cu_seqlens of x"):
        stack(x[None], memory[None], memory_cu_seqlens=[0, 8])
    with pytest.raises(ShapeError, match=r"memory has shape \(1, 8, 32\); it must be packed like x"):
        stack(x, memory[None], cu_seqlens=[0, 4, 10], memory_cu_seqlens=[0, 3, 8])
    with pytest.raises(ShapeError, match=r"^memory_cu_seqlens is .* to the 8 rows"):
        stack(x, memory, cu_seqlens=[0, 4, 10], memory_cu_seqlens=[0, 3, 7])
    with pytest.raises(ShapeError, match="cu_seqlens has 3 numbers and memory_cu_seqlens 2"):
        stack(x, memory, cu_seqlens=[0, 4, 10], memory_cu_seqlens=[0, 8])
    with pytest.raises(OptionError, match="packed sequences can only have"):
        stack(x, memory, cu_seqlens=[0, 4, 10], memory_cu_seqlens=[0, 3, 8], memory_padding_mask=np.zeros((1, 8), bool))


@pytest.mark.parametrize("starts", [[0, 3], [0, 5, 3, 10], [], [1, 10]])
@pytest.mark.parametrize("options", [{}, {"rope": ROPE}, {"relative_buckets": 8}], ids=str)
def test_starts_that_do_not_rise_to_the_rows_are_named(starts: list[int], options: dict[str, Any]) -> None:
    config = config_of(**options)
    with pytest.raises(ShapeError, match=r"^cu_seqlens is .*; it must rise from 0 to the 10 rows"):
        nn.Encoder(config, weights_of(config))(draw(10, 32), cu_seqlens=starts)


@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("pre_norm", [False, True])
def test_the_scale_and_eps_are_those_of_the_configuration(norm: str, pre_norm: bool) -> None:
    config = config_of(norm=norm, pre_norm=pre_norm, eps=0.3, scale=0.9, cross=True, causal=True)
    weights, x, memory = weights_of(config), draw(2, 6, 32), draw(2, 5, 32)
    scaled = {n: w * np.float32(0.9 * 8**0.5) if ".q." in n else w for n, w in weights.items()}
    expected = naive(config, x, scaled, memory)
    np.testing.assert_allclose(nn.Decoder(config, weights)(x, memory), expected, atol=2e-5)
    alone = config_of(norm=norm, pre_norm=pre_norm, eps=0.3)
    np.testing.assert_allclose(nn.Encoder(alone, weights)(x), naive(alone, x, weights), atol=2e-5)


def test_the_buckets_of_a_causal_stack_are_all_for_what_is_behind() -> None:
    # 16 buckets of one side: the first 8 are of one distance each; were there two sides, 4.
    config = config_of(causal=True, relative_buckets=16, relative_distance=64)
    weights, x = weights_of(config), draw(2, 8, 32)
    behind = np.maximum(np.subtract.outer(np.arange(8), np.arange(8)), 0)
    mask = weights["relative.weight"][behind].transpose(2, 0, 1)
    expected = nn.Encoder(replace(config, relative_buckets=0), weights)(x, mask=mask)
    np.testing.assert_allclose(nn.Encoder(config, weights)(x), expected, atol=1e-5)


@pytest.mark.parametrize("positions", [{"rope": ROPE}, {"alibi": True}, {"relative_buckets": 8}], ids=str)
def test_positions_within_attention_are_no_matter_of_the_memory(positions: dict[str, Any]) -> None:
    plain = config_of(cross=True, causal=True)
    config = replace(plain, **positions)
    weights, x, memory = weights_of(config), draw(2, 6, 32), draw(2, 9, 32)
    assert np.abs(nn.Decoder(config, weights)(x, memory) - nn.Decoder(plain, weights)(x, memory)).max() > 1e-3
    # Without a self-attention that says anything, all that is left is the memory's.
    mute = {n: np.zeros_like(w) if ".attention.o." in n else w for n, w in weights.items()}
    assert np.array_equal(nn.Decoder(config, mute)(x, memory), nn.Decoder(plain, mute)(x, memory))


def test_query_heads_that_share_a_key_head_turn_as_it_does() -> None:
    rope = replace(ROPE, head_factors=(1.0, 1.0, 4.0, 4.0))
    config = nn.TransformerConfig(dim=32, n_heads=4, n_kv_heads=2, rope=rope)
    weights, x = nn.initial(config.attention_shapes(), seed=1, std=0.3), draw(2, 9, 32)
    heads = {n: w.reshape(2, 8, -1).repeat(2, 0).reshape(32, *w.shape[1:]) for n, w in weights.items() if n[0] in "kv"}
    whole = nn.MultiHeadAttention(replace(config, n_kv_heads=None), weights | heads)
    np.testing.assert_allclose(nn.MultiHeadAttention(config, weights)(x), whole(x), atol=1e-5)
    unlike = replace(config, rope=replace(rope, head_factors=(1.0, 2.0, 4.0, 4.0)))
    with pytest.raises(OptionError, match="each 2 query heads share a key head, and must have equal factors"):
        nn.MultiHeadAttention(unlike, weights)
    few = replace(rope, head_factors=(1.0, 2.0, 4.0))
    with pytest.raises((ShapeError, OptionError), match="head_factors"):
        nn.MultiHeadAttention(replace(config, rope=few), weights)


def test_options_without_use_are_refused() -> None:
    stack, x = nn.Encoder(config_of(), weights_of(config_of())), draw(2, 5, 32)
    layer = stack.layers[0]
    for call in (stack, layer):
        for name, value in (("memory_padding_mask", np.zeros((2, 5), bool)), ("memory_cu_seqlens", [0, 5])):
            with pytest.raises(OptionError, match="no cross-attention"):
                call(x, **{name: value})
        with pytest.raises(OptionError, match="positions are given, but this attention has no rope"):
            call(x, positions=np.arange(5))
        with pytest.raises(TypeError, match="foo"):
            call(x, foo=None)
    config = config_of(relative_buckets=8)
    with pytest.raises(OptionError, match="relative_buckets; leave bias out"):
        nn.Encoder(config, weights_of(config))(x, bias=nn.alibi(4, 5, 5))
    cross = nn.MultiHeadAttention(config, nn.initial(config.attention_shapes(), seed=1), memory_dim=32)
    with pytest.raises(OptionError, match="a cache needs self-attention"):
        cross(x, x, cache=nn.KVCache())


@pytest.mark.parametrize("shape", [(2, 4, 32), (5, 2, 32), (3, 4, 32), (10, 32), (1, 5, 32)])
def test_a_residual_has_the_shape_of_x(shape: tuple[int, ...]) -> None:
    config, x = config_of(), draw(2, 5, 32)
    for part in (
        nn.MultiHeadAttention(config, nn.initial(config.attention_shapes(), seed=1)),
        nn.FeedForward(config, nn.initial(config.feed_forward_shapes(), seed=1)),
    ):
        with pytest.raises(ShapeError) as said:
            part(x, residual=draw(*shape))
        assert str(shape) in str(said.value)
        assert "(2, 5, 32)" in str(said.value)


def test_a_weight_is_named_in_full_wherever_it_is_missed() -> None:
    config = config_of(cross=True, causal=True, pre_norm=True, relative_buckets=8, dtype="int8")
    weights = weights_of(config)
    for name in weights:
        # A bias of a norm that a model does not have is none.
        if not name.endswith("norm.bias"):
            with pytest.raises(ShapeError, match=f"^the weights have no '{name}'"):
                nn.Decoder(config, {n: w for n, w in weights.items() if n != name})
        with pytest.raises(ShapeError, match=rf"^{name} has shape \(3, 1\)"):
            nn.Decoder(config, weights | {name: np.zeros((3, 1))})
    bad = weights["layers.1.cross.v.weight"].copy()
    bad[0, 0] = np.nan
    with pytest.raises(OptionError, match=r"those of layers.1.cross.k, layers.1.cross.v hold NaN"):
        nn.Decoder(config, weights | {"layers.1.cross.v.weight": bad})


def test_a_layer_names_the_shape_of_x() -> None:
    for pre_norm in (False, True):
        config = config_of(pre_norm=pre_norm)
        layer = nn.Encoder(config, weights_of(config)).layers[0]
        for shape in ((2, 5, 31), (5, 32)):
            with pytest.raises(ShapeError, match=r"x has shape .*; it must be \(B, T, 32\)"):
                layer(draw(*shape))
