"""Optimizers reduce the loss, clip gradients, skip non-finite steps, and resume from a saved state."""

from __future__ import annotations

import numpy as np
import pytest

from tokkit.errors import OptionError, ShapeError, TrainingError
from tokkit.nn.grad import Parameters
from tokkit.nn.optim import SGD, AdamW, WarmupCosine, WeightAverage


def parameters() -> Parameters:
    made = Parameters({"a.weight": (3, 5), "a.bias": (3,), "b.weight": (2, 2)})
    made.data[:] = np.random.default_rng(0).normal(size=len(made.data))
    return made


@pytest.mark.parametrize("kind", [AdamW, SGD])
def test_a_step_after_a_step_finds_the_minimum(kind: type) -> None:
    p, goal = parameters(), np.linspace(-1, 1, 22, dtype=np.float32)
    optimizer = kind(p, lr=0.05, weight_decay=0, max_norm=None)
    for _ in range(300):
        p.grad[:] = p.data - goal
        optimizer.step()
    np.testing.assert_allclose(p.data, goal, atol=2e-2)
    assert optimizer.steps == 300


def test_gradients_are_clipped_by_the_norm_of_all_and_norms_are_not_decayed() -> None:
    p = parameters()
    p.grad[:] = 3
    before = p.data.copy()
    report = SGD(p, lr=1, momentum=0, max_norm=0.5).step()
    assert report.norm == pytest.approx(3 * 22**0.5)
    np.testing.assert_allclose(np.linalg.norm(p.data - before), 0.5, rtol=1e-5)
    assert not p.grad.any()
    before, p.grad[:] = p.data.copy(), 0
    AdamW(p, lr=0.5, weight_decay=0.1).step()
    np.testing.assert_allclose(p.data[: p.n_matrices], before[: p.n_matrices] * 0.95, rtol=1e-6)
    np.testing.assert_array_equal(p["a.bias"], before[p.n_matrices :])


def test_a_step_that_is_not_finite_is_skipped_and_the_third_names_the_weight() -> None:
    p = parameters()
    before, optimizer = p.data.copy(), AdamW(p, lr=0.1)
    for bad in (np.nan, np.inf):
        p.grads["b.weight"][1, 1] = bad
        assert optimizer.step().skipped
    np.testing.assert_array_equal(p.data, before)
    p.grad[:] = 1
    assert not optimizer.step().skipped
    assert (optimizer.skipped, optimizer.steps) == (2, 1)
    for _ in range(2):
        p.grads["a.bias"][0] = np.nan
        optimizer.step()
    p.grads["a.bias"][0] = np.nan
    with pytest.raises(TrainingError, match=r"3 steps in a row are not finite, first that of a\.bias; .* rate, 0\.1"):
        optimizer.step()


@pytest.mark.parametrize("kind", [AdamW, SGD])
def test_what_was_kept_goes_on_with_equal_bits(kind: type) -> None:
    ends = []
    for resumed in (False, True):
        p, rng = parameters(), np.random.default_rng(1)
        optimizer = kind(p, lr=0.1)
        for step in range(6):
            if resumed and step == 3:
                other = parameters()
                other.data[:] = p.data
                kept = {name: array.copy() for name, array in optimizer.state().items()}
                p, optimizer = other, kind(other, lr=0.1)
                optimizer.load_state(kept, steps=3)
            p.grad[:] = rng.normal(size=len(p.grad))
            optimizer.step(lr=0.01 * step)
        ends.append(p.data)
    np.testing.assert_array_equal(*ends)
    with pytest.raises(ShapeError, match="is missing; it must have shape"):
        optimizer.load_state({}, steps=1)


def test_an_average_follows_the_weights_and_changes_places_with_them() -> None:
    p = parameters()
    average = WeightAverage(p, 0.5)
    start, p.data[:] = p.data.copy(), p.data + 1
    average.update()
    np.testing.assert_allclose(average.data, start + 9 / 11, rtol=1e-5, atol=1e-6)
    average.swap()
    np.testing.assert_allclose(p.data, start + 9 / 11, rtol=1e-5, atol=1e-6)
    average.swap()
    np.testing.assert_array_equal(p.data, start + 1)


def test_settings_that_cannot_work_are_refused() -> None:
    p = parameters()
    for make in (
        lambda: AdamW(p, lr=-1),
        lambda: AdamW(p, lr=1, betas=(0.9, 1.0)),
        lambda: SGD(p, lr=1, momentum=1),
        lambda: WeightAverage(p, 1.0),
        lambda: WarmupCosine(lr=1, steps=0),
    ):
        with pytest.raises(OptionError, match="must be"):
            make()
