"""Batch norm for training, compared with its formulas, finite differences and torch, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

import tokkit.nn as nn
from extras import extra
from reference import batch_norm as naive
from reference.gradients import differences
from tokkit._core.grad import backward as core
from tokkit._core.text import isas
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.grad import BatchNorm, Parameters, Tape


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def layer(dim: int, **options: object) -> tuple[BatchNorm, Parameters]:
    weights = Parameters({"norm.weight": (dim,), "norm.bias": (dim,)})
    weights.load({"norm.weight": draw(dim), "norm.bias": draw(dim, 1)[:, 0].copy()})
    return BatchNorm(weights, "norm", **options), weights


def test_the_twin_is_that_of_finite_differences() -> None:
    x, dy, weight = draw(4, 3).astype(np.float64), draw(3, 4).T.astype(np.float64), np.array([0.5, -1, 2])
    for given in (None, (x[0] + 1, x[1] ** 2)):
        made = naive.batch_norm_back(dy, x, weight, given)
        of_x = differences(lambda x, given=given: naive.batch_norm(x, weight, 0, given), x.copy(), dy)
        of_weight = differences(lambda w, given=given: naive.batch_norm(x, w, 0, given), weight.copy(), dy)
        np.testing.assert_allclose(made[0], of_x, atol=1e-6)
        np.testing.assert_allclose(made[1], of_weight, atol=1e-6)


@pytest.mark.threads
@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(("n", "m"), [(2, 1), (64, 16), (65, 33), (300, 200)])
@pytest.mark.parametrize("of_batch", [True, False])
def test_kernels_are_the_formulas_for_any_number_of_threads(isa: str, n: int, m: int, of_batch: bool) -> None:
    x, dy, weight, bias = draw(n, m) * 2 + 3, draw(m, n).T.copy(), draw(m), draw(m, 1)[:, 0].copy()
    given = None if of_batch else (draw(m) + 1, draw(m) ** 2 + np.float32(0.1))
    right = naive.batch_norm(x.astype(np.float64), weight, bias, given)
    back = naive.batch_norm_back(dy.astype(np.float64), x.astype(np.float64), weight, given)
    made = []
    for threads in (1, 2, 3):
        mean, variance = np.empty((2, m), dtype=np.float32) if given is None else np.array(given)
        wide = np.full((n, m + 5), np.nan, dtype=np.float32)
        y, dx = wide[:, :m], np.empty_like(x)
        sums = np.ones((2, m), dtype=np.float32)
        core.batch_norm(x, weight, bias, mean, variance, y, of_batch=of_batch, isa=isa, threads=threads)
        core.batch_norm_back(dy, x, weight, mean, variance, dx, *sums, of_batch=of_batch, isa=isa, threads=threads)
        assert np.isnan(wide[:, m:]).all()
        made.append((y.copy(), mean, variance, dx, sums))
    for other in made[1:]:
        for one, two in zip(made[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
    y, mean, variance, dx, sums = made[0]
    for got, wanted in zip(
        (mean, variance), naive.statistics(x.astype(np.float64)) if of_batch else given, strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    # Two rows may be near to one another: by 1 / sqrt(variance + eps), what is rounded grows.
    scale = 1 / np.sqrt(variance.min() + 1e-5)
    np.testing.assert_allclose(y, right, atol=1e-6 * scale * np.abs(x).max())
    np.testing.assert_allclose(dx, back[0], atol=1e-5 * scale)
    np.testing.assert_allclose(sums - 1, back[1:], atol=1e-4 * max(1, n / 100))


@pytest.mark.parametrize("momentum", [0.1, 0.3, None])
def test_running_statistics_move_as_those_of_the_layer_that_infers(momentum: float | None) -> None:
    norm, weights = layer(6, momentum=momentum)
    state = nn.BatchNormState.new(6)
    for seed in range(4):
        x, tape = draw(9, 6) * 2 + seed, Tape()
        other = nn.BatchNorm(
            {"weight": weights["norm.weight"], "bias": weights["norm.bias"]}, dim=6,
            momentum=1 / (seed + 1) if momentum is None else momentum,
        )  # fmt: skip
        np.testing.assert_allclose(norm.forward(x, tape), other(x, state=state, training=True), atol=1e-5)
        np.testing.assert_allclose(norm.state.mean, state.mean, atol=1e-6)
        np.testing.assert_allclose(norm.state.variance, state.variance, rtol=1e-5)
        np.testing.assert_allclose(norm.forward(x, Tape(recording=False)), other(x, state=state), atol=1e-5)
    assert norm.batches == 4
    norm.training, before = False, state.mean.copy()
    tape.clear()
    dx = (norm.forward(x, tape), tape.backward(np.ones_like(x)))[1]
    np.testing.assert_allclose(dx[0], weights["norm.weight"] / np.sqrt(norm.state.variance + 1e-5), rtol=1e-5)
    np.testing.assert_array_equal(state.mean, before)


def test_frozen_weights_get_no_gradient_and_shapes_are_said() -> None:
    shapes = {"norm.weight": (2,), "norm.bias": (2,)}
    weights, tape = Parameters(shapes, frozen=list(shapes)), Tape()
    weights.load({"norm.weight": np.ones(2, np.float32), "norm.bias": np.zeros(2, np.float32)})
    norm, x = BatchNorm(weights, "norm"), draw(5, 2)
    norm.forward(x, tape)
    np.testing.assert_allclose(tape.backward(x * x), naive.batch_norm_back(x * x, x, 1)[0], atol=1e-5)
    with pytest.raises(ShapeError, match=r"x has shape \(1, 2\).*two rows"):
        norm.forward(x[:1], tape)
    assert norm.forward(x[:1], Tape(recording=False)).shape == (1, 2)
    with pytest.raises(ShapeError, match=r"x has shape \(5, 3\); it must be \(n, 2\)"):
        norm.forward(draw(5, 3), tape)
    with pytest.raises(OptionError, match="momentum is 2"):
        BatchNorm(weights, "norm", momentum=2)


@pytest.mark.parity
@pytest.mark.parametrize("momentum", [0.1, None])
def test_statistics_and_gradients_are_those_of_torch(momentum: float | None) -> None:
    torch = extra("torch")
    norm, weights = layer(12, momentum=momentum)
    theirs = torch.nn.BatchNorm1d(12, momentum=momentum)
    with torch.no_grad():
        theirs.weight[:], theirs.bias[:] = (torch.from_numpy(weights[f"norm.{name}"]) for name in ("weight", "bias"))
    for number in range(5):
        if number == 3:
            theirs.eval()
            norm.training = False
        x, dy, tape = draw(40 + number, 12) * 2 + number, draw(12, 40 + number).T.copy(), Tape()
        given = torch.from_numpy(x).requires_grad_()
        theirs.zero_grad()
        weights.grad[:] = 0
        wanted = theirs(given)
        wanted.backward(torch.from_numpy(dy))
        np.testing.assert_allclose(norm.forward(x, tape), wanted.detach().numpy(), atol=1e-5)
        pairs = [(tape.backward(dy), given.grad)]
        pairs += [(weights.grads[f"norm.{name}"], getattr(theirs, name).grad) for name in ("weight", "bias")]
        pairs += [(norm.state.mean, theirs.running_mean), (norm.state.variance, theirs.running_var)]
        for got, right in pairs:
            assert np.abs(got - right.numpy()).max() <= 1e-5 * np.abs(right.numpy()).max()
        assert norm.batches == theirs.num_batches_tracked.item()
