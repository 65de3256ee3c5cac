"""Linear attention equals the naive twin on every instruction set, for whole sequences, chunks and single tokens."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nn.stacks import draw
from reference import linear_attention as twin
from reference.attention import attention as softmax_attention
from reference.attention import band
from tokkit import nn
from tokkit._core.nn.linear_attention import attend_features
from tokkit._core.text import isas
from tokkit.errors import OptionError, ShapeError

pytestmark = pytest.mark.threads

# (batch, heads, key heads, length, features, value size): about the sizes of chunks, tiles and vectors.
SHAPES = [
    (1, 1, 1, 1, 1, 1), (2, 4, 2, 65, 17, 19), (1, 3, 3, 64, 64, 64), (1, 2, 1, 131, 7, 33), (1, 1, 1, 200, 70, 16),
]  # fmt: skip
FEATURES = {"elu": twin.elu, "relu": twin.relu, "exp": np.exp}


def empty_state(batch: int, heads: int, f: int, e: int) -> np.ndarray:
    state = np.zeros((batch, heads, f * e + f + 1), dtype=np.float32)
    state[..., -1] = -np.inf
    return state


def drawn(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    batch, heads, kv_heads, n, f, e = shape
    return draw(batch, heads, n, f), draw(batch, kv_heads, n, f, seed=1), draw(batch, kv_heads, n, e, seed=2)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("feature", FEATURES)
def test_sums_over_features_are_the_twins(isa: str, shape: tuple[int, ...], feature: str) -> None:
    batch, heads, kv_heads, n, f, e = shape
    q, k, v = drawn(shape)
    ignored = np.random.default_rng(3).random((batch, n)) < 0.3
    for causal in (True, False):
        for hidden in (None, ignored):
            out, state = np.full((batch, heads, n, e), np.nan, np.float32), empty_state(batch, kv_heads, f, e)
            padding = None if hidden is None else hidden.view(np.uint8)
            if causal:
                attend_features(q, k, v, out, state, feature, ignored=padding, isa=isa)
            else:
                attend_features(None, k, v, None, state, feature, ignored=padding, isa=isa)
                attend_features(q, None, None, out, state, feature, isa=isa)
            expected = twin.linear_attention(q, k, v, FEATURES[feature], causal=causal, ignored=hidden)
            np.testing.assert_allclose(out, expected, atol=2e-5, rtol=2e-5, err_msg=f"{causal} {hidden is None}")


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("feature", FEATURES)
def test_parts_of_any_length_give_what_the_whole_gives(isa: str, feature: str) -> None:
    shape = (2, 4, 2, 150, 20, 24)
    q, k, v = drawn(shape)
    whole, parts = np.empty((2, 2, 4, 150, 24), dtype=np.float32)
    attend_features(q, k, v, whole, empty_state(2, 2, 20, 24), feature, isa=isa, threads=3)
    state = empty_state(2, 2, 20, 24)
    for first, last in ((0, 1), (1, 2), (2, 70), (70, 134), (134, 150)):
        part = np.s_[:, :, first:last]
        attend_features(q[part], k[part], v[part], parts[part], state, feature, isa=isa)
    np.testing.assert_allclose(parts, whole, atol=2e-5)


@pytest.mark.parametrize("isa", isas())
def test_what_comes_later_has_no_effect_even_if_it_is_no_number(isa: str) -> None:
    q, k, v = drawn((1, 2, 2, 100, 16, 16))
    expected = np.empty((1, 2, 100, 16), dtype=np.float32)
    attend_features(q, k, v, expected, empty_state(1, 2, 16, 16), "elu", isa=isa)
    k[:, 0, 70], v[:, 1, 81] = np.nan, np.inf
    out = np.empty_like(expected)
    with np.errstate(invalid="ignore"):
        attend_features(q, k, v, out, empty_state(1, 2, 16, 16), "elu", isa=isa)
    np.testing.assert_allclose(out[:, 0, :70], expected[:, 0, :70], atol=1e-6)
    np.testing.assert_allclose(out[:, 1, :81], expected[:, 1, :81], atol=1e-6)
    assert np.isnan(out[:, 0, 70:]).all()
    assert not np.isfinite(out[:, 1, 81:]).any()


@pytest.mark.parametrize("isa", isas())
def test_logits_of_any_size_do_not_overflow(isa: str) -> None:
    q, k, v = drawn((1, 1, 1, 130, 8, 8))
    q, k = 30 * q + 500, 30 * k + np.float32(200) * np.linspace(0, 1, 130, dtype=np.float32)[:, None]
    out = np.empty_like(v)
    attend_features(q, k, v, out, empty_state(1, 1, 8, 8), "exp", isa=isa)
    steady = twin.linear_attention(q - 500, k - 200, v, np.exp, causal=True)
    np.testing.assert_allclose(out[:, :, -30:], steady[:, :, -30:], atol=2e-3)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("features", ["elu", "relu", "random"])
def test_a_state_decodes_token_by_token_in_constant_memory(features: str) -> None:
    made = nn.RandomFeatures(16, 40, seed=2) if features == "random" else features
    q, k, v = draw(2, 4, 40, 16), draw(2, 2, 40, 16, seed=1), draw(2, 2, 40, 24, seed=2)
    whole = nn.linear_attention(q, k, v, features=made, is_causal=True)
    rule = twin.performer(made.matrix) if features == "random" else FEATURES[features]
    np.testing.assert_allclose(whole, twin.linear_attention(q, k, v, rule, causal=True), atol=2e-5)
    state, sizes = nn.LinearState(), set()
    for i in range(40):
        if i == 9:
            state = pickle.loads(pickle.dumps(state))
        token = np.s_[:, :, i : i + 1]
        out = nn.linear_attention(q[token], k[token], v[token], features=made, is_causal=True, state=state)
        np.testing.assert_allclose(out, whole[token], atol=2e-5)
        sizes.add(state.nbytes)
        if i == 19:
            half = state.copy()
    assert len(sizes) == 1
    assert (state.length, half.length) == (40, 20)
    again = nn.linear_attention(q[:, :, 20:], k[:, :, 20:], v[:, :, 20:], features=made, is_causal=True, state=half)
    np.testing.assert_allclose(again, whole[:, :, 20:], atol=2e-5)


def test_both_directions_see_all_keys_but_padding() -> None:
    q, k, v = draw(2, 2, 30, 16), draw(2, 2, 50, 16, seed=1), draw(2, 2, 50, 24, seed=2)
    ignored = np.arange(50) >= np.array([[50], [31]])
    v[1, :, 40] = np.nan
    for made in ("elu", nn.RandomFeatures(16, 33, seed=1)):
        rule = twin.elu if made == "elu" else twin.performer(made.matrix)
        out = nn.linear_attention(q, k, v, features=made, key_padding_mask=ignored)
        np.testing.assert_allclose(out, twin.linear_attention(q, k, v, rule, ignored=ignored), atol=2e-5)


def test_random_features_are_orthogonal_seeded_and_estimate_softmax() -> None:
    features = nn.RandomFeatures(16, 40, seed=5)
    assert np.array_equal(features.matrix, nn.RandomFeatures(16, 40, seed=5).matrix)
    assert not np.array_equal(features.matrix, nn.RandomFeatures(16, 40, seed=6).matrix)
    for first in (0, 16, 32):
        products = features.matrix[first : first + 16] @ features.matrix[first : first + 16].T
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=2e-5)
    q, k, v = 0.5 * draw(1, 1, 60, 16), 0.5 * draw(1, 1, 60, 16, seed=1), draw(1, 1, 60, 16, seed=2)
    exact, _ = softmax_attention(q, k, v, sees=band(60, 60, right=0))

    def error(m: int) -> float:
        made = [nn.linear_attention(q, k, v, features=nn.RandomFeatures(16, m, seed=s), is_causal=True) for s in (0, 1)]
        return float(np.mean([np.abs(one - exact).mean() for one in made]))

    assert error(4096) < 0.05
    assert error(4096) < error(64) / 3


def test_weights_of_zero_give_zeros() -> None:
    q, v = -np.ones((1, 1, 3, 4), np.float32), np.ones((1, 1, 3, 4), np.float32)
    assert not nn.linear_attention(q, q, v, features="relu").any()
    assert not nn.linear_attention(v, v, v, key_padding_mask=np.ones((1, 3), dtype=bool)).any()


def test_threads_change_no_bit() -> None:
    q, k, v = draw(2, 6, 300, 32), draw(2, 3, 300, 32, seed=1), draw(2, 3, 300, 32, seed=2)
    outs = []
    for n in (1, 4):
        with nn.threads(n):
            outs.append(nn.linear_attention(q, k, v, is_causal=True))
    assert np.array_equal(*outs)


def test_what_does_not_fit_is_refused() -> None:
    x, more = draw(1, 2, 3, 4), draw(1, 2, 5, 4)
    with pytest.raises(ShapeError, match="one query per key"):
        nn.linear_attention(x, more, more, is_causal=True)
    with pytest.raises(OptionError, match="'elu', 'relu' or RandomFeatures"):
        nn.linear_attention(x, x, x, features="gelu")
    with pytest.raises(ShapeError, match="head size must be that of the features, 8"):
        nn.linear_attention(x, x, x, features=nn.RandomFeatures(8, seed=0))
    with pytest.raises(ShapeError, match=r"must be \(B, H, T, D\)"):
        nn.linear_attention(x[0], x[0], x[0])
    with pytest.raises(ShapeError, match="out overlaps key"):
        nn.linear_attention(x, x, x, out=x)
    state = nn.LinearState()
    nn.linear_attention(x, x, x, state=state)
    with pytest.raises(ShapeError, match="it must be that of the state"):
        nn.linear_attention(x, x, x, features="relu", state=state)
    state.clear()
    nn.linear_attention(x, x, x, features="relu", state=state)
    assert state.length == 3


def test_a_layer_is_its_projections_around_linear_attention() -> None:
    config = nn.TransformerConfig(dim=16, n_heads=4, n_kv_heads=2, causal=True)
    weights = nn.initial(config.attention_shapes(), seed=5, std=0.4)
    layer, x, state = nn.LinearMultiHeadAttention(config, weights, features="relu"), draw(2, 9, 16), nn.LinearState()
    q, k, v = ((x @ weights[f"{n}.weight"].T).reshape(2, 9, -1, 4).swapaxes(1, 2) for n in "qkv")
    mixed = twin.linear_attention(q, k, v, twin.relu, causal=True).swapaxes(1, 2).reshape(2, 9, 16)
    parts = [layer(x[:, :5], state=state), layer(x[:, 5:], state=state)]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), mixed @ weights["o.weight"].T, atol=1e-5)
    with pytest.raises(OptionError, match="no rope"):
        nn.LinearMultiHeadAttention(nn.TransformerConfig(dim=16, n_heads=4, alibi=True), weights)
    with pytest.raises(ShapeError, match=r"\(B, T, 16\)"):
        layer(x[0])
