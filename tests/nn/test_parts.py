"""Embeddings, linear layers, norms and losses, compared with torch and their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from extras import extra
from nn.stacks import draw
from tokkit import nn
from tokkit.errors import OptionError, ShapeError


def test_an_embedding_looks_up_rows_and_names_ids_outside() -> None:
    table = nn.Embedding.random(50, 8, seed=1)
    ids = np.array([[1, 2, 49], [0, 0, 7]], dtype=np.uint32)
    assert np.array_equal(table(ids), table.weight[ids])
    out = np.empty((2, 3, 8), dtype=np.float32)
    assert table(ids, out=out) is out
    assert table(np.zeros((0,), dtype=np.int64)).shape == (0, 8)
    for bad in (50, -1):
        with pytest.raises(IndexError, match=rf"is {bad}; it must be from 0 to 49"):
            table([1, bad])
    for wrong in ([1.5], [True]):
        with pytest.raises(TypeError, match="must have integers"):
            table(wrong)


def test_random_tables_have_the_spread_that_was_asked_for() -> None:
    normal, uniform = nn.Embedding.random(400, 300, seed=1), nn.Embedding.random(400, 300, seed=1, init="xavier")
    assert normal.weight.std() == pytest.approx(0.02, rel=0.02)
    most = np.sqrt(6 / 700)
    assert abs(uniform.weight).max() <= most
    assert uniform.weight.std() == pytest.approx(most / np.sqrt(3), rel=0.02)
    assert np.array_equal(nn.Embedding.random(4, 3, seed=5).weight, nn.Embedding.random(4, 3, seed=5).weight)


def test_given_vectors_stand_at_the_ids_of_their_tokens() -> None:
    vectors = {"a": draw(4), "b": draw(4, seed=1)}
    made = nn.Embedding.from_vectors(vectors, {"b": 2, "c": 0}, vocab_size=3, seed=1)
    assert np.array_equal(made.weight[2], vectors["b"])
    assert np.array_equal(made.weight[:2], nn.Embedding.random(3, 4, seed=1).weight[:2])
    with pytest.raises(ShapeError, match="'b'"):
        nn.Embedding.from_vectors({"a": draw(4), "b": draw(5)}, {"b": 1}, vocab_size=3, seed=1)
    with pytest.raises(IndexError, match="is 9"):
        nn.Embedding.from_vectors(vectors, {"b": 9}, vocab_size=3, seed=1)


def test_a_linear_layer_fuses_what_separate_steps_give() -> None:
    w, b, x, more = draw(12, 8), draw(12), draw(2, 5, 8), draw(2, 5, 12)
    layer = nn.Linear(w, b)
    np.testing.assert_allclose(layer(x), x @ w.T + b, atol=1e-5)
    np.testing.assert_allclose(layer(x, activation="gelu", residual=more), nn.gelu(x @ w.T + b) + more, atol=1e-5)
    buffer = more.copy()
    assert layer(x, residual=buffer, out=buffer) is buffer
    np.testing.assert_allclose(buffer, x @ w.T + b + more, atol=1e-5)
    np.testing.assert_allclose(layer(x[0, 0]), x[0, 0] @ w.T + b, atol=1e-5)
    np.testing.assert_allclose(layer(x.astype(np.float64)[:, ::-1]), (x @ w.T + b)[:, ::-1], atol=1e-5)


def test_a_linear_layer_says_what_does_not_fit() -> None:
    layer = nn.Linear(draw(12, 8))
    with pytest.raises(ShapeError, match=r"\(3, 7\).*must end in 8"):
        layer(draw(3, 7))
    with pytest.raises(ShapeError, match=r"residual has shape \(3, 8\)"):
        layer(draw(3, 8), residual=draw(3, 8))
    with pytest.raises(OptionError, match=r"activation is .*must be one of"):
        layer(draw(3, 8), activation="softmax")
    with pytest.raises(ShapeError, match="first axes"):
        nn.Linear(draw(12, 8), draw(11))
    with pytest.raises(OptionError, match="dtype is"):
        nn.Linear(draw(12, 8), dtype="fp4")
    with pytest.raises(OptionError, match="finite"):
        nn.Linear(np.full((2, 2), np.nan), dtype="int8")
    with pytest.raises(TypeError, match="int64"):
        nn.Linear(np.ones((2, 2), dtype=np.int64))


def test_functions_equal_those_of_torch() -> None:
    torch = extra("torch")
    f, x, w, b = torch.nn.functional, draw(4, 7, 50) * 3, draw(50), draw(50)
    t, tw, tb = map(torch.from_numpy, (x, w, b))
    for got, expected in (
        (nn.softmax(x), f.softmax(t, -1)),
        (nn.log_softmax(x), f.log_softmax(t, -1)),
        (nn.gelu(x), f.gelu(t)),
        (nn.gelu(x, approximate="tanh"), f.gelu(t, approximate="tanh")),
        (nn.silu(x), f.silu(t)),
        (nn.relu(x), f.relu(t)),
        (nn.layer_norm(x, w, b), f.layer_norm(t, (50,), tw, tb)),
        (nn.layer_norm(x, residual=x[::-1]), f.layer_norm(t + t.flip(0), (50,))),
        (nn.rms_norm(x, w), f.rms_norm(t, (50,), tw, 1e-6)),
        (nn.gated(x, x[::-1]), f.silu(t) * t.flip(0)),
    ):
        np.testing.assert_allclose(got, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_equals_that_of_torch(reduction: str) -> None:
    torch = extra("torch")
    logits, targets = draw(4, 6, 30) * 5, np.random.default_rng(0).integers(0, 30, (4, 6))
    targets[1, 2:5] = -100
    theirs = torch.nn.functional.cross_entropy(
        torch.from_numpy(logits).reshape(-1, 30), torch.from_numpy(targets).reshape(-1), reduction=reduction
    ).numpy()
    got = nn.cross_entropy(logits, targets, reduction=reduction)
    np.testing.assert_allclose(np.ravel(got), np.ravel(theirs), rtol=1e-5, atol=1e-6)


def test_cross_entropy_names_targets_that_do_not_fit() -> None:
    with pytest.raises(IndexError, match="target is 3"):
        nn.cross_entropy(draw(2, 3), [0, 3])
    with pytest.raises(ShapeError, match="targets"):
        nn.cross_entropy(draw(2, 3), [0, 1, 2])
    with pytest.raises(OptionError, match="reduction"):
        nn.cross_entropy(draw(2, 3), [0, 1], reduction="max")
    assert np.isnan(nn.cross_entropy(draw(2, 3), [-100, -100]))
    assert nn.cross_entropy([[1e30, 0.0]], [0]) == 0


def test_batch_norm_keeps_running_statistics_as_torch_does() -> None:
    torch = extra("torch")
    theirs = torch.nn.BatchNorm1d(6)
    with torch.no_grad():
        theirs.weight[:], theirs.bias[:] = torch.from_numpy(draw(6)), torch.from_numpy(draw(6, seed=1))
    ours, state = nn.BatchNorm({"weight": draw(6), "bias": draw(6, seed=1)}, dim=6), nn.BatchNormState.new(6)
    for seed in range(4):
        x = draw(9, 6, seed=seed) * 2 + 1
        expected = theirs(torch.from_numpy(x)).detach().numpy()
        np.testing.assert_allclose(ours(x, state=state, training=True), expected, atol=1e-5)
    np.testing.assert_allclose(state.variance, theirs.running_var.numpy(), rtol=1e-5)
    expected = theirs.eval()(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(x, state=state), expected, atol=1e-5)
    with pytest.raises(OptionError, match="give state"):
        ours(x)
    with pytest.raises(ShapeError, match="two rows"):
        ours(x[:1], training=True)


def test_a_tied_head_multiplies_by_the_embedding() -> None:
    table, x = nn.Embedding.random(40, 8, seed=1, std=1.0), draw(2, 3, 8)
    np.testing.assert_allclose(nn.LMHead(table.weight)(x), x @ table.weight.T, atol=1e-5)


def test_functions_refuse_what_does_not_fit() -> None:
    x = draw(3, 4)
    with pytest.raises(OptionError, match=r"activation is .*must be one of"):
        nn.activate(x, "swish")
    with pytest.raises(ShapeError, match=r"\(3, 4\) and weight \(5,\)"):
        nn.layer_norm(x, np.ones(5))
    with pytest.raises(ShapeError, match="must be equal"):
        nn.rms_norm(x, residual=draw(4, 3))
    with pytest.raises(ShapeError, match="single number"):
        nn.softmax(np.float32(1))
    with pytest.raises(ShapeError, match="must be equal"):
        nn.gated(x, draw(3, 5))
    with pytest.raises(OptionError, match="probability"):
        nn.dropout(x, 2.0, seed=0)
    with pytest.raises(OptionError, match="'none' or 'tanh'"):
        nn.gelu(x, approximate="erf")
    with pytest.raises(OptionError, match="init"):
        nn.initial({"a": (2, 2)}, seed=0, init="he")


def test_dropout_drops_that_share_and_keeps_the_mean() -> None:
    x = np.ones((200, 200))
    got = nn.dropout(x, 0.3, seed=4)
    assert (got == 0).mean() == pytest.approx(0.3, abs=0.01)
    assert got.mean() == pytest.approx(1, abs=0.02)
    assert np.array_equal(got, nn.dropout(x, 0.3, seed=4))
    assert not nn.dropout(x, 1.0, seed=0).any()
