"""Each option of embeddings, linear layers and norms, and the errors for invalid numbers and shapes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nn.stacks import draw
from reference.rows import layer_norm, rms_norm, softmax
from tokkit import nn
from tokkit.errors import OptionError, ShapeError

EMPTY = [(0,), (2, 0), (2, 5, 0), (0, 3), (2, 0, 3), (0, 0)]


@pytest.mark.parametrize("shape", EMPTY)
def test_rows_of_nothing_give_nothing(shape: tuple[int, ...]) -> None:
    x, ones = np.zeros(shape, dtype=np.float32), np.ones(shape[-1], dtype=np.float32)
    for got in (
        nn.softmax(x),
        nn.log_softmax(x),
        nn.gelu(x),
        nn.activate(x, "relu", bias=ones),
        nn.gated(x, x),
        nn.layer_norm(x, ones, ones, residual=x),
        nn.rms_norm(x, ones),
        nn.LayerNorm({"weight": ones}, dim=shape[-1])(x),
        nn.dropout(x, 0.5, seed=0),
    ):
        assert (got.shape, got.dtype) == (shape, np.float32)


def test_rows_of_nothing_are_written_where_they_are_told() -> None:
    out = np.empty((2, 5, 0), dtype=np.float32)
    assert nn.softmax(out, out=out) is out
    assert nn.layer_norm(out, out=out) is out


def test_a_table_without_columns_has_rows_of_nothing() -> None:
    table = nn.Embedding(np.zeros((4, 0)))
    assert table([[1, 2, 3], [0, 0, 1]]).shape == (2, 3, 0)
    with pytest.raises(IndexError, match="is 4; it must be from"):
        table([4])


@pytest.mark.parametrize("x", [(2, 7), (3, 2, 7), (7,)])
def test_weights_that_do_not_fit_are_named_beside_x(x: tuple[int, ...]) -> None:
    eight = draw(8)
    for call in (
        lambda: nn.LayerNorm({"weight": eight}, dim=8)(draw(*x)),
        lambda: nn.RMSNorm({"weight": eight}, dim=8)(draw(*x)),
        lambda: nn.layer_norm(draw(*x), None, eight),
        lambda: nn.activate(draw(*x), "relu", bias=eight),
    ):
        with pytest.raises(ShapeError, match=r"(weight|bias) \(8,\); \1 must be \(7,\), as x's last axis") as error:
            call()
        assert f"x has shape {x}" in str(error.value)


def test_norms_take_a_residual_and_write_where_they_are_told() -> None:
    x, more, by, offset = draw(3, 4, 8), draw(3, 4, 8, seed=1), draw(8), draw(8, seed=1)
    both = x.astype(np.float64) + more
    for norm, expected in (
        (nn.RMSNorm({"weight": by}, dim=8, eps=0.25), rms_norm(both, 0.25) * by),
        (nn.LayerNorm({"weight": by, "bias": offset}, dim=8, eps=0.25), layer_norm(both, 0.25) * by + offset),
    ):
        out = np.empty_like(x)
        assert norm(x, residual=more, out=out) is out
        np.testing.assert_allclose(out, expected, atol=2e-6)
        assert np.array_equal(norm(x, residual=more), out)


@pytest.mark.parametrize("momentum", [0.0, 0.3, 1.0])
def test_running_statistics_move_by_the_momentum(momentum: float) -> None:
    norm = nn.BatchNorm({"weight": np.ones(3), "bias": np.zeros(3)}, dim=3, momentum=momentum)
    state, mean, variance = nn.BatchNormState.new(np.int64(3)), np.zeros(3), np.ones(3)
    for seed in range(3):
        x = draw(2, 5, 3, seed=seed) * 3 + 2
        norm(x, state=state, training=True)
        rows = x.reshape(10, 3).astype(np.float64)
        mean = (1 - momentum) * mean + momentum * rows.mean(0)
        variance = (1 - momentum) * variance + momentum * rows.var(0, ddof=1)
    np.testing.assert_allclose(state.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(state.variance, variance, rtol=1e-5)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("size", [1, 5])
def test_statistics_of_another_size_are_refused(training: bool, size: int) -> None:
    norm, state = nn.BatchNorm({"weight": np.ones(3), "bias": np.zeros(3)}, dim=3), nn.BatchNormState.new(size)
    with pytest.raises(ShapeError, match=rf"x has shape \(4, 3\), .*\({size},\).* must be \(3,\)"):
        norm(draw(4, 3), state=state, training=training)


@pytest.mark.parametrize("ignore_index", [-1, 0, 2, np.int64(2), 10**6])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_targets_to_ignore_may_be_any_number(ignore_index: int, reduction: str) -> None:
    logits, targets = draw(3, 4, 6) * 2, np.random.default_rng(1).integers(0, 6, (3, 4))
    targets[0, 1:3] = targets[2, 3] = ignore_index
    counted = targets != ignore_index
    p = softmax(logits.astype(np.float64))
    losses = np.zeros((3, 4))
    for i, j in zip(*counted.nonzero(), strict=True):
        losses[i, j] = -math.log(p[i, j, targets[i, j]])
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / counted.sum()}[reduction]
    got = nn.cross_entropy(logits, targets, ignore_index=ignore_index, reduction=reduction)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_the_usual_number_is_a_target_once_another_is_ignored() -> None:
    with pytest.raises(IndexError, match="target is -100"):
        nn.cross_entropy(draw(2, 3), [-100, 1], ignore_index=-1)
    for bad in (True, 1.5, None):
        with pytest.raises(OptionError, match=r"ignore_index is .*must be a whole number"):
            nn.cross_entropy(draw(2, 3), [0, 1], ignore_index=bad)


def test_a_head_adds_its_bias_and_writes_where_it_is_told() -> None:
    weight, bias, x = draw(40, 8), draw(40, seed=1), draw(2, 3, 8)
    out = np.empty((2, 3, 40), dtype=np.float32)
    assert nn.LMHead(weight, bias)(x, out=out) is out
    np.testing.assert_allclose(out, x @ weight.T + bias, atol=1e-5)


@pytest.mark.parametrize("kind", ["bfloat16", "int8"])
def test_a_head_is_stored_as_it_is_told(kind: str) -> None:
    weight, bias, x = draw(40, 64), draw(40, seed=1), draw(2, 3, 64)
    got, exact = nn.LMHead(weight, bias, dtype=kind)(x), nn.LMHead(weight, bias)(x)
    assert np.array_equal(got, nn.Linear(weight, bias, dtype=kind)(x))
    assert not np.array_equal(got, exact)
    np.testing.assert_allclose(got, exact, atol=0.5)


def test_rows_that_no_vector_fills_have_the_deviation_that_was_asked_for() -> None:
    made = nn.Embedding.from_vectors({"a": draw(300)}, {"a": np.int64(7)}, vocab_size=np.int64(400), seed=1, std=0.5)
    assert np.array_equal(made.weight[7], draw(300))
    assert np.delete(made.weight, 7, axis=0).std() == pytest.approx(0.5, rel=0.02)


def test_vectors_and_sizes_that_make_no_table_are_refused() -> None:
    for vector, shape in ((1.0, r"\(\)"), (draw(2, 3), r"\(2, 3\)")):
        with pytest.raises(ShapeError, match=rf"the vector of 'a' has shape {shape}; it must be \(dim,\)"):
            nn.Embedding.from_vectors({"a": vector}, {"a": 0}, vocab_size=3, seed=1)
    with pytest.raises(OptionError, match="vectors is empty"):
        nn.Embedding.from_vectors({}, {"a": 0}, vocab_size=3, seed=1)
    for bad in (True, 1.0, "1"):
        with pytest.raises(OptionError, match=r"the id of 'a' is .*must be a whole number"):
            nn.Embedding.from_vectors({"a": draw(3)}, {"a": bad}, vocab_size=3, seed=1)
        with pytest.raises(OptionError, match=r"vocab_size is .*must be a whole number of at least 0"):
            nn.Embedding.random(bad, 3, seed=1)
    assert nn.Embedding.random(np.int64(3), np.int32(4), seed=1).weight.shape == (3, 4)


@pytest.mark.parametrize("bad", [True, -1, 1.0])
def test_sizes_and_seeds_that_are_no_whole_numbers_are_refused(bad: object) -> None:
    weights = {"weight": np.ones(1), "bias": np.zeros(1)}
    for call in (
        lambda: nn.LayerNorm(weights, dim=bad),
        lambda: nn.RMSNorm(weights, dim=bad),
        lambda: nn.BatchNorm(weights, dim=bad),
        lambda: nn.BatchNormState.new(bad),
    ):
        with pytest.raises(OptionError, match=r"dim is .*must be a whole number of at least 0"):
            call()
    with pytest.raises(OptionError, match=r"seed is .*must be a whole number of at least 0"):
        nn.dropout(np.ones(3), 0.5, seed=bad)


def test_a_seed_of_numpy_is_that_seed() -> None:
    x = np.ones((5, 5))
    assert np.array_equal(nn.dropout(x, 0.5, seed=np.uint64(4)), nn.dropout(x, 0.5, seed=4))


def test_a_configuration_holds_numbers_of_python() -> None:
    given = {"dim": np.int64(16), "n_heads": np.uint8(4), "n_kv_heads": np.int32(2), "hidden_dim": np.uint16(40_000)}
    config = nn.TransformerConfig(**given, eps=np.float32(0.5), window=[np.int64(3), None])
    assert config == nn.TransformerConfig(dim=16, n_heads=4, n_kv_heads=2, hidden_dim=40_000, eps=0.5, window=(3, None))
    assert {type(value) for value in (config.dim, config.n_heads, config.n_kv_heads, config.hidden_dim)} == {int}
    assert hash(config)


@pytest.mark.parametrize("name", ["dim", "n_heads", "n_layers", "n_kv_heads", "head_dim", "hidden_dim", "memory_dim",
                                  "relative_distance"])  # fmt: skip
@pytest.mark.parametrize("bad", [0, -8, np.int64(-8), True, 8.0, "8"])
def test_sizes_of_a_configuration_are_whole_numbers_of_at_least_one(name: str, bad: object) -> None:
    with pytest.raises(OptionError, match=f"{name} is .*must be a whole number of at least 1"):
        nn.TransformerConfig(**{"dim": 16, "n_heads": 4} | {name: bad})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"relative_buckets": -1}, "relative_buckets is .*must be a whole number of at least 0"),
        ({"eps": -1.0}, "eps is .*must be a finite number of at least 0"),
        ({"eps": math.nan}, "eps is .*must be a finite number of at least 0"),
        ({"scale": math.nan}, "scale is .*must be a finite number"),
        ({"scale": "1"}, "scale is .*must be a finite number"),
        ({"window": 0}, "window is .*must be a whole number of at least 1"),
        ({"window": True}, "window is .*must be a whole number of at least 1"),
        ({"window": (1, -1)}, "each side of window is .*must be a whole number of at least 0"),
        ({"window": (1, 2, 3)}, "a pair must have two sides"),
    ],
)
def test_other_numbers_of_a_configuration_are_looked_at_too(options: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        nn.TransformerConfig(dim=16, n_heads=4, **options)
