"""The properties that define each kind of position encoding."""

from __future__ import annotations

import numpy as np
import pytest

from nn.stacks import draw
from reference.attention import attention as naive
from tokkit import nn
from tokkit.errors import OptionError, ShapeError

SCALINGS = [
    {},
    {"scaling": "linear", "factor": 4.0},
    {"scaling": "power", "exponent": 0.5},
    {"scaling": "ntk", "factor": 4.0},
    {"scaling": "dynamic", "factor": 4.0, "original_length": 64},
    {"scaling": "ntk-by-parts", "factor": 4.0},
    {"scaling": "yarn", "factor": 4.0},
    {"scaling": "llama3", "factor": 8.0},
]


def encoder(**options: object) -> tuple[nn.Encoder, nn.TransformerConfig]:
    config = nn.TransformerConfig(dim=32, n_heads=4, n_layers=2, **options)
    return nn.Encoder(config, nn.initial(config.shapes(), seed=3, std=0.3)), config


def test_without_positions_permuted_tokens_give_permuted_outputs() -> None:
    stack, _ = encoder()
    x, order = draw(1, 9, 32), np.random.default_rng(5).permutation(9)
    np.testing.assert_allclose(stack(x[:, order]), stack(x)[:, order], atol=2e-5)


@pytest.mark.parametrize(
    "options",
    [{"rope": nn.RopeConfig(head_dim=8)}, {"alibi": True}, {"relative_buckets": 32}, {"causal": True}, {"window": 3}],
)
def test_with_positions_they_do_not(options: dict[str, object]) -> None:
    stack, _ = encoder(**options)
    x, order = draw(1, 9, 32), np.random.default_rng(5).permutation(9)
    assert np.abs(stack(x[:, order]) - stack(x)[:, order]).max() > 1e-2


def test_embedded_positions_break_the_symmetry_too() -> None:
    stack, _ = encoder()
    x, order = draw(1, 9, 32), np.random.default_rng(5).permutation(9)
    pe = nn.sinusoidal(9, 32)
    got = stack(nn.with_positions(x[:, order], pe))
    assert np.abs(got - stack(nn.with_positions(x, pe))[:, order]).max() > 1e-2
    assert nn.with_positions(x, pe[:, :6], how="concatenate").shape == (1, 9, 38)


@pytest.mark.parametrize("k", [1, 7, 100])
def test_a_shifted_sinusoid_is_a_linear_map_of_it(k: int) -> None:
    # The map is made of k alone: a rotation of each pair of columns by k times its frequency.
    turned = np.zeros((16, 16))
    for i in range(8):
        angle = k / 10000 ** (i / 8)
        pair = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        turned[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = pair
    there = nn.sinusoidal(np.arange(200) + k, 16)
    np.testing.assert_allclose(nn.sinusoidal(200, 16).astype(np.float64) @ turned, there, atol=1e-6)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("scaling", SCALINGS, ids=lambda s: s.get("scaling", "none"))
def test_rope_scores_depend_on_the_distance_alone(interleaved: bool, scaling: dict[str, object]) -> None:
    rope = nn.Rope(nn.RopeConfig(head_dim=32, interleaved=interleaved, **scaling))
    q, k = draw(1, 1, 1, 32, seed=1), draw(1, 1, 1, 32, seed=2)
    scores = [
        (rope(q, [m], length=4000)[0, 0, 0] * rope(k, [n], length=4000)[0, 0, 0]).sum(dtype=np.float64)
        for m, n in ((5, 2), (103, 100), (3003, 3000))
    ]
    assert np.ptp(scores) < 2e-5 * np.linalg.norm(q) * np.linalg.norm(k)


def test_a_shift_of_all_positions_changes_no_output() -> None:
    stack, _ = encoder(rope=nn.RopeConfig(head_dim=8), causal=True)
    x = draw(2, 12, 32)
    np.testing.assert_allclose(stack(x, positions=np.arange(12) + 500), stack(x), atol=2e-4)
    each = np.stack([np.arange(12), np.arange(12) + 7])
    np.testing.assert_allclose(stack(x, positions=each), stack(x), atol=2e-4)


@pytest.mark.parametrize("scaling", SCALINGS, ids=lambda s: s.get("scaling", "none"))
def test_scalings_slow_low_frequencies_and_keep_the_highest(scaling: dict[str, object]) -> None:
    plain = nn.inverse_frequencies(nn.RopeConfig(head_dim=64))
    made = nn.inverse_frequencies(nn.RopeConfig(head_dim=64, **scaling), 64)
    assert (made <= plain + 1e-15).all()
    if scaling.get("scaling") in ("ntk", "ntk-by-parts", "yarn", "llama3", "power"):
        assert made[0] == pytest.approx(plain[0])
    if scaling.get("scaling") in ("linear", "ntk", "ntk-by-parts", "yarn", "llama3"):
        assert made[-1] == pytest.approx(plain[-1] / scaling["factor"])
    if scaling.get("scaling") == "dynamic":
        assert np.array_equal(made, plain), "up to the length of training nothing changes"
        longer = nn.inverse_frequencies(nn.RopeConfig(head_dim=64, **scaling), 128)
        assert longer[-1] == pytest.approx(plain[-1] / 5)


def test_heads_may_turn_at_their_own_speed() -> None:
    x = draw(2, 3, 5, 8)
    rope = nn.Rope(nn.RopeConfig(head_dim=8, head_factors=(1.0, 2.0, 4.0)))
    got = rope(x, np.arange(5))
    for h, factor in enumerate((1.0, 2.0, 4.0)):
        alone = nn.Rope(nn.RopeConfig(head_dim=8, scaling="linear", factor=factor))
        np.testing.assert_allclose(got[:, h : h + 1], alone(x[:, h : h + 1], np.arange(5)), atol=1e-6)
    assert np.array_equal(rope(x, np.stack([np.arange(5)] * 2)), got)


def test_part_of_a_head_may_turn_and_the_rest_stays() -> None:
    x = draw(1, 1, 4, 10)
    got = nn.Rope(nn.RopeConfig(head_dim=10, rotary_dim=6))(x, np.arange(4))
    assert np.array_equal(got[..., 6:], x[..., 6:])
    assert not np.array_equal(got[..., 1:, :6], x[..., 1:, :6])


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6, 8, 12, 20])
def test_alibi_adds_a_slope_times_the_distance(n_heads: int) -> None:
    q, k, v = draw(1, n_heads, 5, 8), draw(1, n_heads, 9, 8), draw(1, n_heads, 9, 8)
    distance = np.abs(np.arange(5)[:, None] + 4 - np.arange(9))
    expected, _ = naive(q, k, v, add=-nn.alibi_slopes(n_heads)[:, None, None] * distance)
    got = nn.attention(q, k, v, bias=nn.alibi(n_heads, 5, 9, offset=4))
    np.testing.assert_allclose(got, expected, atol=3e-6)
    assert (np.diff(np.sort(nn.alibi_slopes(n_heads))) > 0).all()


def test_buckets_grow_with_the_distance_and_know_both_sides() -> None:
    buckets = nn.relative_buckets(np.arange(0, -400, -1))
    assert (np.diff(buckets) >= 0).all()
    assert buckets[:8].tolist() == list(range(8))
    assert buckets[-1] == 15
    assert nn.relative_buckets([1, 127, 5000]).tolist() == [17, 31, 31]
    assert nn.relative_buckets([3, -5], bidirectional=False).tolist() == [0, 5]


def test_learned_positions_end_where_their_table_does() -> None:
    table = nn.LearnedPositions(draw(16, 4))
    assert np.array_equal(table(3, start=2), table([2, 3, 4]))
    for bad in (17, [16], [-1]):
        with pytest.raises(IndexError, match="16 positions"):
            table(bad)


def test_queries_far_out_are_sharpened_by_the_logarithm() -> None:
    assert nn.log_n_scale([0, 511, 512 * 512 - 1], 512).tolist() == [1, 1, 2]


def test_positions_refuse_what_does_not_fit() -> None:
    with pytest.raises(ShapeError, match="even number"):
        nn.RopeConfig(head_dim=7)
    with pytest.raises(ShapeError, match="even number"):
        nn.RopeConfig(head_dim=8, rotary_dim=10)
    with pytest.raises(OptionError, match=r"scaling is .*must be one of"):
        nn.RopeConfig(head_dim=8, scaling="magic")
    rope = nn.Rope(nn.RopeConfig(head_dim=8))
    with pytest.raises(ShapeError, match=r"\(B, H, T, 8\)"):
        rope(draw(1, 1, 4, 6), np.arange(4))
    with pytest.raises(ShapeError, match="positions have shape"):
        rope(draw(1, 1, 4, 8), np.arange(5))
    with pytest.raises(TypeError, match="must have integers"):
        rope(draw(1, 1, 4, 8), np.arange(4) / 2)
    with pytest.raises(ShapeError, match="head_factors"):
        nn.Rope(nn.RopeConfig(head_dim=8, head_factors=(1.0, 2.0)))(draw(1, 3, 4, 8), np.arange(4))
