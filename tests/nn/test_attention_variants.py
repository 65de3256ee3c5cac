"""Dual chunks, attention sinks, recurrence, memories and additive scores, compared with the formulas in papers."""

from __future__ import annotations

import numpy as np
import pytest

from nn.stacks import draw
from reference import attention_variants as twin
from reference.attention import attention as naive
from tokkit import nn
from tokkit.errors import OptionError, ShapeError


def drawn(n: int, d: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return draw(2, 2, n, d), draw(2, 2, n, d, seed=1), draw(2, 2, n, 6, seed=2)


@pytest.mark.parametrize(("chunk", "longest"), [(6, 8), (5, 11), (1, 3), (40, 50)])
def test_dual_chunks_turn_queries_by_the_kind_of_chunk(chunk: int, longest: int) -> None:
    q, k, v = drawn(31)
    expected = twin.dual_chunk(q, k, v, chunk=chunk, max_length=longest)
    rope = nn.Rope(nn.RopeConfig(head_dim=8))
    got = nn.dual_chunk_attention(q, k, v, rope, chunk=chunk, max_length=longest)
    np.testing.assert_allclose(got, expected, atol=5e-6)
    for n in (1, 9):
        last = nn.dual_chunk_attention(q[:, :, -n:], k, v, rope, chunk=chunk, max_length=longest)
        np.testing.assert_allclose(last, expected[:, :, -n:], atol=5e-6)


def test_dual_chunks_serve_heads_that_share_keys() -> None:
    q, (_, k, v) = draw(2, 4, 20, 8), drawn(20)
    rope = nn.Rope(nn.RopeConfig(head_dim=8))
    expected = twin.dual_chunk(q, k.repeat(2, 1), v.repeat(2, 1), chunk=6, max_length=8)
    np.testing.assert_allclose(nn.dual_chunk_attention(q, k, v, rope, chunk=6, max_length=8), expected, atol=5e-6)
    with pytest.raises(OptionError, match="must be shorter"):
        nn.dual_chunk_attention(q, k, v, rope, chunk=8, max_length=8)
    with pytest.raises(ShapeError, match="queries are the last"):
        nn.dual_chunk_attention(q, k[:, :, :9], v[:, :, :9], rope, chunk=6, max_length=8)


@pytest.mark.parametrize(("n_sinks", "window"), [(2, 4), (0, 3), (4, 1), (3, 50)])
@pytest.mark.parametrize("turned", [True, False])
def test_sinks_and_a_window_are_seen_whatever_parts_the_text_comes_in(n_sinks: int, window: int, turned: bool) -> None:
    q, k, v = drawn(30)
    expected = twin.sinks(q, k, v, n_sinks=n_sinks, window=window, base=10000.0 if turned else None)
    rope = nn.Rope(nn.RopeConfig(head_dim=8)) if turned else None
    for cuts in ([30], [1] * 30, [1, 2, 7, 1, 12, 1, 6]):
        cache, first = nn.SinkCache(n_sinks=n_sinks, window=window), 0
        for n in cuts:
            part = np.s_[:, :, first : first + n]
            got = nn.sink_attention(q[part], k[part], v[part], cache, rope=rope)
            np.testing.assert_allclose(got, expected[part], atol=5e-6, err_msg=f"{first} {cuts}")
            first += n


def test_a_cache_of_sinks_does_not_grow() -> None:
    cache, token, sizes = nn.SinkCache(n_sinks=4, window=16), draw(1, 1, 1, 8), set()
    for _ in range(300):
        keys, values, where = cache.append(token, token)
        sizes.add(cache.nbytes)
    assert len(sizes) == 1
    assert keys.shape == values.shape == (1, 1, 20, 8)
    assert where.tolist() == [0, 1, 2, 3, *range(284, 300)]
    with pytest.raises(ShapeError, match="only n may differ"):
        cache.append(draw(1, 1, 1, 9), draw(1, 1, 1, 8))


def test_relative_scores_have_the_four_terms() -> None:
    k, v = drawn(13)[1:]
    q, r, u, w = draw(2, 2, 5, 8), draw(2, 13, 8), draw(2, 8), draw(2, 8, seed=1)
    expected = twin.relative(q, k, v, r, u, w, scale=0.3)
    np.testing.assert_allclose(nn.relative_attention(q, k, v, r, u, w, scale=0.3), expected, atol=5e-6)
    with pytest.raises(ShapeError, match=r"\(2, 13, 8\)"):
        nn.relative_attention(q, k, v, r[:, 1:], u, w)


def test_segments_with_memory_are_one_text() -> None:
    config = nn.TransformerConfig(dim=16, n_heads=2)
    layer = nn.RelativeAttention(config, nn.initial(nn.RelativeAttention.shapes(config), seed=1, std=0.3))
    x, memory, parts = draw(2, 24, 16), nn.SegmentMemory(100), []
    for first in range(0, 24, 6):
        parts.append(layer(x[:, first : first + 6], memory.states))
        memory.append(x[:, first : first + 6])
    np.testing.assert_allclose(np.concatenate(parts, axis=1), layer(x), atol=5e-6)
    with pytest.raises(OptionError, match="neither rope nor ALiBi"):
        nn.RelativeAttention(nn.TransformerConfig(dim=16, n_heads=2, alibi=True), {})


@pytest.mark.parametrize("how", ["mean", "max", "convolution"])
def test_memories_forget_or_compress_what_is_oldest(how: str) -> None:
    x, kernel = draw(2, 30, 4), draw(3, 4, 4)
    rules = {
        "mean": lambda p: p.mean(2), "max": lambda p: p.max(2),
        "convolution": lambda p: np.einsum("bnri,rio->bno", p, kernel),
    }  # fmt: skip
    plain = nn.SegmentMemory(7)
    full = nn.SegmentMemory(6, compressed=5, rate=3, how=rules[how] if how == "convolution" else how)
    assert plain.states is None
    for first in range(0, 30, 5):
        plain.append(x[:, first : first + 5])
        full.append(x[:, first : first + 5])
    assert np.array_equal(plain.states, x[:, -7:])
    # 24 of 30 are older than the last 6: eight threes, of which the last five are kept.
    old = rules[how](x[:, :24].reshape(2, 8, 3, 4))[:, -5:]
    np.testing.assert_allclose(full.states, np.concatenate([old, x[:, 24:]], axis=1), atol=1e-6)
    with pytest.raises(OptionError, match="'mean', 'max' or a function"):
        nn.SegmentMemory(6, how="median")
    with pytest.raises(ShapeError, match="only T may differ"):
        full.append(draw(2, 3, 5))


@pytest.mark.parametrize("causal", [True, False])
def test_memory_tokens_carry_what_earlier_segments_said(causal: bool) -> None:
    config = nn.TransformerConfig(dim=16, n_heads=2, causal=causal)
    layers = nn.Encoder(config, nn.initial(config.shapes(), seed=2, std=0.4))
    start, x = draw(3, 16), draw(2, 10, 16)
    tokens = nn.MemoryTokens({"memory": start}, n=3, dim=16, causal=causal)
    got, memory = tokens(layers, x, segment=6)
    held, expected = np.broadcast_to(start, (2, 3, 16)), []
    for part in (x[:, :6], x[:, 6:]):
        found = layers(np.concatenate([held, part, held] if causal else [held, part], axis=1))
        expected.append(found[:, 3 : 3 + part.shape[1]])
        held = found[:, -3:] if causal else found[:, :3]
    np.testing.assert_allclose(got, np.concatenate(expected, axis=1), atol=1e-6)
    np.testing.assert_allclose(memory, held, atol=1e-6)
    once, then = tokens(layers, x[:, :6], segment=6), None
    then = tokens(layers, x[:, 6:], segment=6, memory=once[1])
    np.testing.assert_allclose(then[0], got[:, 6:], atol=1e-6)
    # What the first segment said reaches the second by the memory alone.
    other = tokens(layers, np.concatenate([-x[:, :6], x[:, 6:]], axis=1), segment=6)[0]
    assert np.abs(other[:, 6:] - got[:, 6:]).max() > 1e-3
    with pytest.raises(ShapeError, match=r"\(2, 3, 16\)"):
        tokens(layers, x, segment=6, memory=start)


def test_additive_scores_are_those_of_the_network() -> None:
    weights = {"query.weight": draw(20, 5), "key.weight": draw(20, 7), "score.weight": draw(1, 20)}
    layer = nn.AdditiveAttention(weights, query_dim=5, key_dim=7, hidden_dim=20)
    q, m = draw(2, 4, 5), draw(2, 9, 7)
    ignored = np.arange(9) >= np.array([[6], [0]])
    m[0, 7] = np.nan
    got, made = layer(q, m, key_padding_mask=ignored, return_weights=True)
    by = (weights[f"{name}.weight"] for name in ("query", "key"))
    np.testing.assert_allclose(got, twin.additive(q, m, *by, weights["score.weight"][0], ignored=ignored), atol=2e-5)
    np.testing.assert_allclose(made.sum(-1), [[1] * 4, [0] * 4], atol=1e-6)
    with pytest.raises(ShapeError, match=r"\(B, S, 7\)"):
        layer(q, q)


def test_one_key_head_serves_all_query_heads_over_an_encoders_memory() -> None:
    config = nn.TransformerConfig(dim=16, n_heads=4)
    weights = nn.initial(nn.TransformerConfig(dim=16, n_heads=4, n_kv_heads=1).attention_shapes(12), seed=3, std=0.4)
    few = nn.MultiQueryAttention(config, weights, memory_dim=12)
    repeated = {n: np.tile(w, (4, *[1] * (w.ndim - 1))) if n[0] in "kv" else w for n, w in weights.items()}
    all_heads = nn.MultiHeadAttention(config, repeated, memory_dim=12)
    x, memory = draw(2, 5, 16), draw(2, 9, 12)
    np.testing.assert_allclose(few(x, memory), all_heads(x, memory), atol=2e-6)


def test_capped_scores_and_alibi_are_in_the_same_kernel() -> None:
    q, k, v = drawn(70)
    slopes, distance = nn.alibi_slopes(2), np.arange(70)[:, None] - np.arange(70)
    added = -slopes[:, None, None] * np.abs(distance)
    got, weights = nn.attention(3 * q, k, v, cap=2.0, bias=nn.alibi(2, 70, 70), is_causal=True, return_weights=True)
    expected, expected_weights = naive(3 * q, k, v, cap=2.0, add=added, sees=distance >= 0)
    np.testing.assert_allclose(got, expected, atol=5e-6)
    np.testing.assert_allclose(weights, expected_weights, atol=5e-6)
