"""Masks, biases and packed sequences of every layout, compared with the naive twin; and their cost."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from nn.stacks import draw
from reference.attention import attention as naive
from reference.attention import band
from tokkit import nn
from tokkit.errors import OptionError, ShapeError

sdpa = nn.scaled_dot_product_attention


def masks_of(t: int, s: int, heads: int) -> dict[str, tuple[dict[str, Any], Any, Any]]:
    """Name → (options, what is seen, what is added)."""
    ignored = np.arange(s) >= np.array([s - 20, s])[:, None]
    blocks = np.array([[True, False], [True, True]])
    table = draw(heads, t + s - 1, seed=8)
    added = table[:, np.arange(t)[:, None] - np.arange(s) + s - 1]
    return {
        "padding": ({"key_padding_mask": ignored}, ~ignored[:, None, None], None),
        "blocks": ({"block_mask": blocks}, blocks.repeat(64, 0).repeat(64, 1)[:t, :s], None),
        "bias": ({"bias": nn.DistanceBias(table, s - 1)}, True, added),
        "all": (
            {"key_padding_mask": ignored, "block_mask": blocks, "bias": nn.DistanceBias(table, s - 1)},
            ~ignored[:, None, None] & blocks.repeat(64, 0).repeat(64, 1)[:t, :s],
            added,
        ),
    }


@pytest.mark.parametrize("kind", ["padding", "blocks", "bias", "all"])
def test_weights_and_outputs_are_those_of_every_mask(kind: str) -> None:
    q, k, v = draw(2, 4, 70, 8), draw(2, 2, 80, 8, seed=1), draw(2, 2, 80, 8, seed=2)
    options, sees, add = masks_of(70, 80, 4)[kind]
    expected, twin = naive(q, k, v, sees=np.broadcast_to(sees, (2, 4, 70, 80)), add=add)
    out, weights = nn.attention(q, k, v, return_weights=True, **options)
    np.testing.assert_allclose(out, expected, atol=3e-6)
    np.testing.assert_allclose(weights, twin, atol=1e-6)
    assert np.array_equal(weights == 0, twin == 0)


def test_dropout_drops_for_each_query_head_where_key_heads_are_shared() -> None:
    q, k, v = draw(2, 6, 9, 8), draw(2, 2, 11, 8), draw(2, 2, 11, 5)
    got = nn.attention(q, k, v, dropout_p=0.3, seed=4)
    assert np.array_equal(got, nn.attention(q, k.repeat(3, 1), v.repeat(3, 1), dropout_p=0.3, seed=4))
    out, weights = nn.attention(q, k, v, dropout_p=0.3, seed=4, return_weights=True)
    assert np.array_equal(out, got)
    np.testing.assert_allclose(weights @ v.repeat(3, 1), got, atol=2e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dropout_p", [0.0, 0.2])
def test_a_key_that_is_not_seen_counts_nothing_whatever_it_holds(bad: float, dropout_p: float) -> None:
    q, k, v = draw(2, 4, 5, 8), draw(2, 2, 7, 8), draw(2, 2, 7, 3)
    kx, vx = k.copy(), v.copy()
    kx[:, :, 6] = vx[:, :, 6] = bad
    hidden = np.arange(7) == 6
    for options in (
        {"is_causal": True},
        {"mask": ~hidden},
        {"mask": np.where(hidden, -np.inf, 0)},
        {"key_padding_mask": np.broadcast_to(hidden, (2, 7))},
    ):
        expected, twin = nn.attention(q, k, v, dropout_p=dropout_p, seed=3, return_weights=True, **options)
        got, weights = nn.attention(q, kx, vx, dropout_p=dropout_p, seed=3, return_weights=True, **options)
        assert np.array_equal(got, expected), options
        assert np.array_equal(weights, twin), options


def test_dropout_leaves_what_is_not_finite_to_the_queries_that_keep_it() -> None:
    q, k, v = draw(1, 4, 30, 8), draw(1, 2, 6, 8), draw(1, 2, 6, 3)
    clean, weights = nn.attention(q, k, v, dropout_p=0.5, seed=1, return_weights=True)
    v[0, 1, 2, 0], v[0, 1, 4, 0] = np.inf, -np.inf
    got = nn.attention(q, k, v, dropout_p=0.5, seed=1)
    assert np.array_equal(got[:, :2], clean[:, :2]), "the other key head"
    np.testing.assert_allclose(got[..., 1:], clean[..., 1:], atol=1e-6)
    more, less = weights[0, 2:, :, 2] > 0, weights[0, 2:, :, 4] > 0
    column = got[0, 2:, :, 0]
    assert np.isnan(column[more & less]).all()
    assert (column[more & ~less] == np.inf).all()
    assert (column[less & ~more] == -np.inf).all()
    assert np.isfinite(column[~more & ~less]).all()
    assert (~more & ~less).any()


def test_packed_keys_may_have_other_lengths_than_queries() -> None:
    starts, of_keys = [0, 3, 3, 70], [0, 65, 70, 71]
    q, k, v = draw(1, 4, 70, 8), draw(1, 2, 71, 8), draw(1, 2, 71, 5)
    for options in ({}, {"is_causal": True}, {"bias": nn.alibi(4, 70, 71)}):
        got = nn.attention(q, k, v, cu_seqlens=starts, cu_seqlens_k=of_keys, **options)
        for (a, b), (c, d) in zip(pairwise(starts), pairwise(of_keys), strict=True):
            alone = nn.attention(q[:, :, a:b], k[:, :, c:d], v[:, :, c:d], **options)
            np.testing.assert_allclose(got[:, :, a:b], alone, atol=2e-6)


def test_packed_sequences_that_do_not_fit_are_named() -> None:
    q, k = draw(1, 4, 5, 8), draw(1, 4, 6, 8)
    for of_keys in ([0, 2], [1, 6], [0, 4, 3, 6], []):
        with pytest.raises(ShapeError, match=r"^cu_seqlens_k is .*must rise from 0 to the 6 rows"):
            nn.attention(q, k, k, cu_seqlens=[0, 5], cu_seqlens_k=of_keys)
    with pytest.raises(ShapeError, match=r"^cu_seqlens is \[0, 4\]; it must rise from 0 to the 5 rows"):
        nn.attention(q, k, k, cu_seqlens=[0, 4], cu_seqlens_k=[0, 6])
    with pytest.raises(ShapeError, match="cu_seqlens has 2 numbers and cu_seqlens_k 3"):
        nn.attention(q, k, k, cu_seqlens=[0, 5], cu_seqlens_k=[0, 2, 6])
    with pytest.raises(ShapeError, match=r"\(1, 4, 6, 8\); keys of other lengths need cu_seqlens_k"):
        nn.attention(q, k, k, cu_seqlens=[0, 5])
    with pytest.raises(TypeError, match=r"cu_seqlens_k .*float64; give one axis of whole numbers"):
        nn.attention(q, k, k, cu_seqlens=[0, 5], cu_seqlens_k=[0.0, 6.0])
    with pytest.raises(ShapeError, match=r"bias.table has 3 distances, 0 at 1; 3 queries and 3 keys need 2 before it"):
        nn.attention(q, q, q, cu_seqlens=[0, 3, 5], bias=nn.alibi(4, 2, 2))
    assert nn.attention(q, q, q, cu_seqlens=[0, 2, 4, 5], bias=nn.alibi(4, 2, 2)).shape == q.shape


def test_a_bias_that_is_an_array_is_a_mask() -> None:
    q = draw(1, 2, 5, 8)
    for bias in (np.zeros((5, 5), np.float32), (np.zeros((2, 9), np.float32), 4)):
        with pytest.raises(OptionError, match=r"bias is a DistanceBias.* is a mask"):
            nn.attention(q, q, q, bias=bias)


def test_numbers_beyond_float32_in_a_mask_are_its_largest_and_no_infinity() -> None:
    q, k, v = draw(1, 2, 4, 8), draw(1, 2, 6, 8), draw(1, 2, 6, 8)
    mask = np.zeros((4, 6))
    mask[0, 3], mask[1], mask[2, :5], mask[3] = 1e38, -1e300, -1e300, -np.inf
    expected = np.zeros((4, 6))
    expected[0, 3], expected[1], expected[2, 5] = 1, 1 / 6, 1
    out, weights = sdpa(q, k, v, mask, return_weights=True)
    np.testing.assert_allclose(weights, np.broadcast_to(expected, (1, 2, 4, 6)), atol=1e-6)
    np.testing.assert_allclose(out, expected @ v, atol=2e-6)


def test_a_mask_costs_what_it_holds_and_not_what_it_is_spread_over() -> None:
    t = 256
    q = draw(4, 8, t, 8)
    allow = np.random.default_rng(0).random((t, 2 * t)) < 0.5
    for name, mask in {
        "turned": allow[:, :t].T,
        "every second": allow[:, ::2],
        "a column": allow[:, :1],
        "a number": np.True_,
        "spread and turned": np.broadcast_to(allow[:, :t].T, (4, 8, t, t)),
        "turned float64": np.where(allow[:, :t], 0, -1e300).T,
    }.items():
        full = np.ascontiguousarray(np.broadcast_to(mask, (*q.shape[:2], t, t)))
        expected = nn.attention(q, q, q, mask=full)
        tracemalloc.start()
        got = nn.attention(q, q, q, mask=mask)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert np.array_equal(got, expected), name
        # The output is 260 kB, one (t, t) of float64 520 kB; spread over heads, even booleans would be 2 MB more.
        assert peak - got.nbytes < (1.5e6 if mask.dtype == np.float64 else 2e5), name


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (((5, 8), (6, 7), (6, 7)), r"query has shape \(5, 8\) and key \(6, 7\)"),
        (((5, 8), (6, 8), (7, 8)), r"key has shape \(6, 8\) and value \(7, 8\)"),
        (((4, 5, 8), (4, 6, 7), (4, 6, 7)), r"query has shape \(4, 5, 8\) and key \(4, 6, 7\)"),
        (((4, 5, 8), (3, 6, 8), (3, 6, 8)), r"4 heads and key 3 \(shapes \(4, 5, 8\) and \(3, 6, 8\)\)"),
    ],
)
def test_shapes_in_a_message_are_those_that_were_given(shapes: tuple[tuple[int, ...], ...], says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        sdpa(*(draw(*shape) for shape in shapes), enable_gqa=True)


def test_a_window_and_a_padding_hold_together_in_the_weights() -> None:
    q, ignored = draw(1, 2, 12, 8), (np.arange(12) == 3)[None]
    _, twin = naive(q, q, q, sees=np.broadcast_to(band(12, 12, left=4, right=0) & ~ignored, (1, 2, 12, 12)))
    _, weights = nn.attention(q, q, q, is_causal=True, window=5, key_padding_mask=ignored, return_weights=True)
    np.testing.assert_allclose(weights, twin, atol=1e-6)
