"""Training kernels on every instruction set, compared with naive float64 twins and with finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from reference import gradients
from reference.rows import ACTIVATIONS
from tokkit._core.grad import attention_back as attention_back_core
from tokkit._core.grad import backward as backward_core
from tokkit._core.grad import optim as optim_core
from tokkit._core.text import isas

pytestmark = pytest.mark.threads

GATED = ("relu", "gelu", "gelu_tanh", "silu", "tanh", "identity")


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def close(got: np.ndarray, wanted: np.ndarray, relative: float = 3e-6) -> None:
    assert np.abs(got - wanted).max() <= relative * max(np.abs(wanted).max(), 0.1)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 1, 1), (7, 33, 5), (100, 40, 600), (97, 1030, 17), (13, 5, 0), (64, 256, 256), (1, 9, 300)]
)
def test_products_of_every_layout_are_those_of_numpy(isa: str, m: int, n: int, k: int) -> None:
    a, b, add = draw(m, k), draw(k, n), draw(m, n)
    wanted = a.astype(np.float64) @ b
    for left in (a, np.ascontiguousarray(a.T).T):
        for right in (b, np.ascontiguousarray(b.T).T):
            c = np.full((m, n + 3), np.nan, dtype=np.float32)
            backward_core.matmul(left, right, c[:, :n], isa=isa)
            close(c[:, :n], wanted, 1e-5)
            assert np.isnan(c[:, n:]).all()
            sums = add.copy()
            backward_core.matmul(left, right, sums, sums, isa=isa, threads=3)
            close(sums, wanted + add, 1e-5)
            again = np.empty_like(sums)
            backward_core.matmul(left, right, again, add, isa=isa)
            np.testing.assert_array_equal(again, sums)
    backward_core.matmul(a, b, add, bias=b[0].copy() if k else np.zeros(n, dtype=np.float32), isa=isa)
    close(add, wanted + (b[0] if k else 0), 1e-5)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("n", "heads", "kv_heads", "d"), [(1, 2, 2, 8), (67, 4, 2, 12), (130, 2, 1, 64), (5, 3, 3, 3)])
def test_attention_and_its_gradients_are_those_of_whole_matrices(
    isa: str, causal: bool, n: int, heads: int, kv_heads: int, d: int
) -> None:
    batch, scale, columns = 2, d**-0.5, (heads + 2 * kv_heads) * d
    rows, dout = draw(batch * n, columns) * 2, draw(batch * n, heads * d)
    ends = heads * d, (heads + kv_heads) * d
    parts = rows[:, : ends[0]], rows[:, ends[0] : ends[1]], rows[:, ends[1] :]
    q, k, v = (part.reshape(batch, n, -1, d).astype(np.float64) for part in parts)
    out, lse = np.empty_like(dout), np.empty((batch, heads, n), dtype=np.float32)
    attention_back_core.grad_attention(*parts, out, lse, scale=scale, causal=causal, isa=isa)
    wanted, sums = gradients.attention(q, k, v, scale=scale, causal=causal)
    close(out, wanted.reshape(out.shape))
    close(lse, sums)
    made = []
    for threads in (1, 3):
        d_rows = np.full_like(rows, np.nan)
        d_parts = d_rows[:, : ends[0]], d_rows[:, ends[0] : ends[1]], d_rows[:, ends[1] :]
        attention_back_core.attention_back(
            *parts, out, lse, dout, *d_parts, scale=scale, causal=causal, isa=isa, threads=threads
        )
        made.append(d_rows)
    np.testing.assert_array_equal(made[0], made[1])
    expected = gradients.attention_back(q, k, v, dout.reshape(batch, n, heads, d), scale=scale, causal=causal)
    for part, right in zip(d_parts, expected, strict=True):
        close(part, right.reshape(part.shape), 1e-5)


def test_the_twin_of_attention_is_that_of_finite_differences() -> None:
    q, k, v, dout = (draw(1, 5, heads, 3).astype(np.float64) + i for i, heads in enumerate((4, 2, 2, 4)))
    parts, options = [q, k, v], {"scale": 0.7, "causal": True}
    for i, made in enumerate(gradients.attention_back(q, k, v, dout, **options)):

        def function(x: np.ndarray, i: int = i) -> np.ndarray:
            return gradients.attention(*parts[:i], x, *parts[i + 1 :], **options)[0]

        np.testing.assert_allclose(made, gradients.differences(function, parts[i].copy(), dout), atol=1e-7)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("m", [1, 16, 33, 384])
def test_gradients_of_norms_are_those_of_the_formulas(isa: str, centred: bool, m: int) -> None:
    x, dy, weight, add = draw(150, m) + np.float32(0.5), draw(150, m)[::-1], draw(m), draw(150, m) + 1
    right = gradients.norm_back(dy.astype(np.float64), x.astype(np.float64), weight, centred=centred)
    made = []
    for threads in (1, 3):
        dx, dweight, dbias = np.empty_like(x), np.ones(m, dtype=np.float32), np.ones(m, dtype=np.float32)
        backward_core.norm_back(
            dy, x, weight, dx, dweight, dbias if centred else None, add=add, centred=centred, isa=isa, threads=threads
        )
        made.append((dx, dweight, dbias))
    for one, other in zip(*made, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(dx - add, right[0], atol=2e-5 * max(1, np.abs(right[0]).max()))
    np.testing.assert_allclose(dweight - 1, right[1], atol=2e-4)
    if centred:
        np.testing.assert_allclose(dbias - 1, right[2], atol=2e-4)


def test_the_twin_of_norms_is_that_of_finite_differences() -> None:
    x, dy, weight = (draw(2, 5).astype(np.float64) for _ in range(3))
    for centred, norm in ((True, gradients.layer_norm), (False, gradients.rms_norm)):
        wanted = gradients.differences(lambda x, norm=norm: norm(x) * weight[0], x.copy(), dy)
        np.testing.assert_allclose(gradients.norm_back(dy, x, weight[0], centred=centred)[0], wanted, atol=1e-6)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("activation", GATED)
def test_gradients_of_activations_and_gates_are_their_slopes(isa: str, activation: str) -> None:
    x, other, dy = draw(70, 37) * 4, draw(70, 37)[::-1], draw(37, 70).T.copy()
    x[0, :3] = 30, -30, 1e-3
    right, slope = ACTIVATIONS[activation](x.astype(np.float64)), gradients.slope(x.astype(np.float64), activation)
    dx, y = np.empty_like(x), np.empty_like(x)
    backward_core.activate_back(dy, x, dx, activation, y, isa=isa, threads=2)
    np.testing.assert_allclose(dx, dy * slope, atol=2e-5)
    np.testing.assert_allclose(y, right, atol=2e-5)
    beside, held = other.copy(), x.copy()  # over what is read
    backward_core.gate_back(dy, held, beside, held, beside, activation, y, isa=isa, threads=2)
    np.testing.assert_allclose(held, dy * other * slope, atol=6e-5)
    np.testing.assert_allclose(beside, dy * right, atol=6e-5)
    np.testing.assert_allclose(y, other * right, atol=6e-5)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("n", [1, 7, 100, 1000])
def test_losses_and_gradients_of_logits_are_those_of_the_formula(isa: str, n: int) -> None:
    logits = draw(70, n) * 5
    targets = np.random.default_rng(n).integers(0, n, 70)
    targets[::9] = -100
    losses = np.empty(70, dtype=np.float32)
    right = gradients.cross_entropy_back(logits.astype(np.float64), targets, 0.5)
    backward_core.cross_entropy_back(logits, targets, logits, losses, 0.5, isa=isa, threads=2)
    np.testing.assert_allclose(losses, right[0], atol=5e-6, rtol=1e-6)
    np.testing.assert_allclose(logits, right[1], atol=1e-6)


@pytest.mark.parametrize("isa", isas())
def test_sums_of_columns_and_of_embeddings_go_through_rows_in_order(isa: str) -> None:
    dy, ids = draw(200, 131), np.random.default_rng(0).integers(0, 9, 200)
    sums, table = np.ones(131, dtype=np.float32), np.ones((9, 131), dtype=np.float32)
    wanted, rows = sums.copy(), table.copy()
    for row, id_ in zip(dy, ids, strict=True):
        wanted += row
        rows[id_] += row
    backward_core.add_column_sums(dy, sums, isa=isa, threads=3)
    backward_core.scatter_add(dy, ids, table, isa=isa, threads=3)
    np.testing.assert_array_equal(sums, wanted)
    np.testing.assert_array_equal(table, rows)
    with pytest.raises(IndexError, match="is 9; it must be from"):
        backward_core.scatter_add(dy, ids + 1, table)


def test_dropout_leaves_its_share_and_the_same_numbers_everywhere() -> None:
    x = np.ones((300, 77), dtype=np.float32)
    made = []
    for isa in isas():
        y = np.empty_like(x)
        backward_core.drop_out(x, y, 0.25, 2**40 + 5, isa=isa, threads=len(made) + 1)
        made.append(y)
    assert all(np.array_equal(made[0], y) for y in made)
    kept = made[0] != 0
    np.testing.assert_allclose(made[0][kept], 1 / 0.75)
    assert abs(kept.mean() - 0.75) < 0.01
    assert abs(kept.mean(0) - 0.75).max() < 0.12  # in each column, and each row
    assert abs(kept.mean(1) - 0.75).max() < 0.25
    other = np.empty_like(x)
    backward_core.drop_out(x, other, 0.25, 2**40 + 6)
    assert abs(((other != 0) & kept).mean() - 0.75**2) < 0.01


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("n", [1, 37, 70_000])
def test_steps_of_optimizers_are_those_of_the_formulas(isa: str, n: int) -> None:
    p, g, m = draw(n), draw(n, 1)[:, 0], draw(n, 2)[:, 0].copy()
    v = m * m
    right = [x.astype(np.float64) for x in (p, g, m, v)]
    lr, decay, by = 0.01, 0.1, 0.5
    optim_core.adamw_step(
        p, g, m, v, lr=lr, beta1=0.9, beta2=0.95, eps=1e-8, decay=decay, by=by, number=3, isa=isa, threads=2
    )
    mean, square = 0.9 * right[2] + 0.1 * right[1] * by, 0.95 * right[3] + 0.05 * (right[1] * by) ** 2
    step = lr / (1 - 0.9**3) * mean / (np.sqrt(square / (1 - 0.95**3)) + 1e-8)
    np.testing.assert_allclose(m, mean, atol=1e-6)
    np.testing.assert_allclose(v, square, atol=1e-6, rtol=1e-5)
    np.testing.assert_allclose(p, right[0] * (1 - lr * decay) - step, atol=1e-6)
    before, held = p.astype(np.float64), m.astype(np.float64)
    optim_core.sgd_step(p, g, m, lr=lr, momentum=0.9, decay=decay, by=by, isa=isa, threads=2)
    held = held * 0.9 + right[1] * by + before * decay
    np.testing.assert_allclose(p, before - lr * held, atol=1e-6)
    before, held = m.astype(np.float64), p.astype(np.float64)
    optim_core.average_step(m, p, 0.75, isa=isa, threads=2)
    np.testing.assert_allclose(m, before * 0.75 + held * 0.25, atol=1e-6)
    totals = {optim_core.sum_of_squares(g, isa=isa, threads=threads) for threads in (1, 2, 3)}
    assert len(totals) == 1
    np.testing.assert_allclose(totals.pop(), (right[1] ** 2).sum(), rtol=1e-6)
