"""Worked examples of attention, positions and norms, computed in float64 by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference.attention import attention as naive
from reference.rows import softmax
from tokkit import nn

X = np.array([[1, 0.5, -0.2, 0.8], [0.3, 1.2, 0.6, -0.4], [-0.1, 0.7, 1.1, 0.2]])
HEADS = np.array([
    [[[0.2, 0.8], [0.5, 0.1], [0.3, 0.6], [0.7, 0.4]], [[0.1, 0.9], [0.6, 0.2], [0.4, 0.3], [0.8, 0.5]],
     [[0.3, 0.7], [0.2, 0.4], [0.9, 0.1], [0.5, 0.6]]],
    [[[0.4, 0.3], [0.1, 0.8], [0.6, 0.2], [0.5, 0.9]], [[0.7, 0.1], [0.3, 0.6], [0.2, 0.8], [0.4, 0.5]],
     [[0.8, 0.2], [0.1, 0.7], [0.3, 0.4], [0.6, 0.9]]],
])  # fmt: skip
WO = np.array([[0.2, 0.1, 0.8, 0.3], [0.5, 0.7, 0.2, 0.6], [0.3, 0.4, 0.1, 0.9], [0.6, 0.2, 0.5, 0.4]])
WEIGHTS = [
    [[0.504044, 0.220691, 0.275265], [0.423310, 0.269532, 0.307158], [0.453064, 0.247950, 0.298986]],
    [[0.283333, 0.304136, 0.412530], [0.301269, 0.317880, 0.380851], [0.329153, 0.304242, 0.366605]],
]
OUTPUT = [
    [1.421929, 1.180332, 1.391669, 1.767657],
    [1.393097, 1.137518, 1.394312, 1.742105],
    [1.416591, 1.166465, 1.400843, 1.781231],
]


def test_softmax_of_the_worked_scores() -> None:
    rows = [[2, 1, 0.1], [1.9, 1.6, 1.04], [2.34, 2.76, 1.81], [1.18, 1.45, 2.1]]
    expected = [
        [0.659001, 0.242433, 0.098566],
        [0.462111, 0.342341, 0.195548],
        [0.321485, 0.489288, 0.189228],
        [0.207501, 0.271819, 0.520680],
    ]
    np.testing.assert_allclose(nn.softmax(np.array(rows)), expected, atol=1e-6)
    scaled = nn.softmax(np.array([[1.0, 2, 3]]) * np.array([[1.0], [10], [100]]))
    np.testing.assert_allclose(scaled, [[0.090031, 0.244728, 0.665241], [0, 0.000045, 0.999955], [0, 0, 1]], atol=1e-6)


def test_two_heads_of_the_worked_example() -> None:
    weights = {f"{name}.weight": np.concatenate([HEADS[h, i].T for h in range(2)]) for i, name in enumerate("qkv")}
    weights["o.weight"] = WO.T
    layer = nn.MultiHeadAttention(nn.TransformerConfig(dim=4, n_heads=2, bias=False), weights)
    out, seen = layer(X[None], return_weights=True)
    np.testing.assert_allclose(seen[0], WEIGHTS, atol=1e-6)
    np.testing.assert_allclose(out[0], OUTPUT, atol=2e-6)
    q, k, v = (np.einsum("td,hde->hte", X, HEADS[:, i])[None] for i in range(3))
    mixed, twin = naive(q, k, v)
    np.testing.assert_allclose(twin[0], WEIGHTS, atol=1e-6)
    np.testing.assert_allclose(mixed[0].transpose(1, 0, 2).reshape(3, 4) @ WO, OUTPUT, atol=1e-6)


def test_three_words_with_random_weights() -> None:
    rng = np.random.RandomState(42)
    q, k, _ = (np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]) @ (0.5 * rng.randn(4, 3)) for _ in range(3))
    expected = [[0.304193, 0.356157, 0.339650], [0.330781, 0.273530, 0.395688], [0.354896, 0.286431, 0.358674]]
    _, weights = nn.scaled_dot_product_attention(q, k, q, return_weights=True)
    np.testing.assert_allclose(weights, expected, atol=1e-6)


@pytest.mark.parametrize("d", [4, 64, 512, 4096])
def test_the_scale_keeps_scores_at_unit_variance(d: int) -> None:
    rng = np.random.default_rng(d)
    q, k = rng.standard_normal((2, 200, d))
    scores = q @ k.T
    assert scores.std() == pytest.approx(math.sqrt(d), rel=0.05)
    assert (scores / math.sqrt(d)).std() == pytest.approx(1, rel=0.05)
    # Unscaled, the largest weight of a row goes to 1 as d grows; scaled, it stays.
    _, scaled = nn.scaled_dot_product_attention(q, k, k, return_weights=True)
    _, plain = nn.scaled_dot_product_attention(q, k, k, scale=1.0, return_weights=True)
    assert scaled.max(-1).mean() < 0.1
    assert plain.max(-1).mean() > {4: 0.05, 64: 0.6, 512: 0.85, 4096: 0.95}[d]
    np.testing.assert_allclose(scaled, softmax(scores / math.sqrt(d)), atol=1e-5)


def test_shapes_and_parameters_of_the_worked_sizes() -> None:
    config = nn.TransformerConfig(dim=512, n_heads=8, bias=False, hidden_dim=2048)
    assert sum(math.prod(shape) for shape in config.attention_shapes().values()) == 1_048_576
    assert sum(math.prod(shape) for shape in config.feed_forward_shapes().values()) == 2_097_152
    rng = np.random.default_rng(0)
    x, (q, k, v) = rng.standard_normal((3, 512)), rng.standard_normal((3, 512, 64)) / 23
    out, weights = nn.scaled_dot_product_attention(x @ q, x @ k, x @ v, return_weights=True)
    assert (out.shape, weights.shape) == ((3, 64), (3, 3))


def test_causal_weights_above_the_diagonal_are_exactly_zero() -> None:
    x = np.random.default_rng(1).standard_normal((5, 16))
    _, weights = nn.scaled_dot_product_attention(x, x, x, is_causal=True, return_weights=True)
    assert (weights[np.triu_indices(5, 1)] == 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


def test_sinusoidal_positions_of_the_worked_example() -> None:
    fifth = nn.sinusoidal([5], 512)[0]
    expected = [-0.958924, 0.283662, -0.993855, 0.110692, 0.479426, 0.000518316, 1.0]
    np.testing.assert_allclose(fifth[[0, 1, 2, 3, 128, 510, 511]], expected, atol=1e-6)
    np.testing.assert_allclose(nn.sinusoidal([1], 4)[0], [0.841471, 0.540302, 0.01, 0.99995], atol=1e-6)


def test_rope_turns_by_ninety_degrees_a_position() -> None:
    # A base of 1 turns by one radian a position: 90 degrees are positions times pi / 2, by head_factors.
    rope = nn.Rope(nn.RopeConfig(head_dim=2, base=1.0, head_factors=(2 / math.pi,)))
    turned = rope(np.array([[[[1.0, 0.0]] * 3]]), [0, 1, 2])[0, 0]
    np.testing.assert_allclose(turned, [[1, 0], [0, 1], [-1, 0]], atol=1e-6)


def test_alibi_slopes_and_the_temperature_of_yarn() -> None:
    np.testing.assert_allclose(nn.alibi_slopes(8), [2.0 ** -(i + 1) for i in range(8)])
    np.testing.assert_allclose(nn.alibi_slopes(16), [2.0 ** (-8 * (i + 1) / 16) for i in range(16)], rtol=1e-6)
    cosines, _ = nn.Rope(nn.RopeConfig(head_dim=8, scaling="yarn", factor=16.0)).angles([0])
    np.testing.assert_allclose(cosines, 0.1 * math.log(16) + 1, rtol=1e-6)


def test_batch_norm_of_the_worked_samples() -> None:
    one = nn.BatchNorm({"weight": np.full(1, 0.5), "bias": np.full(1, 0.1)}, dim=1)
    got = one(np.array([[7.0], [2], [5], [4]]), training=True)
    np.testing.assert_allclose(got[:, 0], [0.793374, -0.593374, 0.238675, -0.038675], atol=1e-6)
    three = nn.BatchNorm({"weight": np.ones(3), "bias": np.zeros(3)}, dim=3)
    got = three(np.array([[7.0, 5, 4], [2, 3, 4], [1, 2, 3], [7, 5, 6], [3, 3, 4]]), training=True)
    expected = [
        [1.185853, -0.790569, -1.185853, 1.185853, -0.395284],
        [1.166663, -0.499998, -1.333329, 1.166663, -0.499998],
        [-0.204123, -0.204123, -1.224738, 1.837108, -0.204123],
    ]
    np.testing.assert_allclose(got.T, expected, atol=1e-5)


def test_layer_norm_of_the_worked_rows() -> None:
    got = nn.layer_norm([[0.2, 0.4, 0.6, 0.8], [0.1, 0.3, 0.5, 0.7]])
    np.testing.assert_allclose(got, [[-1.341507, -0.447169, 0.447169, 1.341507]] * 2, atol=1e-5)


def test_the_next_token_of_the_worked_logits() -> None:
    logits = np.array([[2, 1, 0.1, 0.2, -1], [0.2, 2.2, 1.5, 0.3, -0.5], [-1, 0.5, 3, 2, 0.1]])
    p = nn.softmax(logits)[-1]
    assert p.argmax() == 2
    np.testing.assert_allclose(p, [0.012024, 0.053886, 0.656468, 0.241501, 0.036121], atol=1e-6)
