"""Products with packed matrices of every dtype and instruction set, compared with naive twins."""

from __future__ import annotations

import numpy as np
import pytest

from reference.rows import ACTIVATIONS, bfloat16, int8_product
from tokkit._core.nn.linear import FUSED, KINDS, PackedLinear, rounds_bfloat16
from tokkit._core.text import isas

pytestmark = pytest.mark.threads

SHAPES = [(1, 1), (32, 16), (33, 7), (100, 40), (384, 64), (67, 385), (31, 1536)]
ROWS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 30, 129]


def draw(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([m, n, k])
    return tuple(rng.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (n, k), (n,)))


def product(packed: PackedLinear, x: np.ndarray, isa: str, **options) -> np.ndarray:
    y = np.full((len(x), packed.shape[0]), np.nan, dtype=np.float32)
    packed.run(x, y, isa=isa, **options)
    return y


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(("n", "k"), SHAPES)
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_a_product_is_that_of_the_stored_weights(isa: str, n: int, k: int, kind: str) -> None:
    for m in ROWS:
        x, w, bias = draw(m, n, k)
        stored = w if kind == "float32" else bfloat16(w)
        expected = x.astype(np.float64) @ stored.astype(np.float64).T + bias
        for threads in (1, 3):
            got = product(PackedLinear(w, bias, kind), x, isa, threads=threads, wide=True)
            assert np.abs(got - expected).max() < 1e-6 * k**0.5 * np.abs(expected).max(), (m, threads)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_bfloat16_rounds_rows_too_where_the_cpu_multiplies_it(isa: str, n: int, k: int) -> None:
    for m in ROWS:
        x, w, bias = draw(m, n, k)
        seen = bfloat16(x) if rounds_bfloat16(isa, wide=False) else x
        expected = seen.astype(np.float64) @ bfloat16(w).astype(np.float64).T + bias
        padded = np.full((m, k + 5), np.nan, dtype=np.float32)  # what is behind a row is not read
        padded[:, :k] = x
        for threads in (1, 3):
            got = product(PackedLinear(w, bias, "bfloat16"), padded[:, :k], isa, threads=threads, wide=False)
            assert np.abs(got - expected).max() < 1e-6 * k**0.5 * np.abs(expected).max(), (m, threads)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_int8_products_are_exact_to_the_last_whole_number(isa: str, n: int, k: int) -> None:
    for m in ROWS:
        x, w, _ = draw(m, n, k)
        x[0] = abs(x[0])  # no negative number: the zero point is 0
        w[0] = 0
        assert np.array_equal(product(PackedLinear(w, None, "int8"), x, isa, threads=2), int8_product(x, w)), m


def test_int8_products_stay_near_the_true_ones() -> None:
    x, w, _ = draw(50, 300, 384)
    true = x.astype(np.float64) @ w.astype(np.float64).T
    assert np.abs(int8_product(x, w) - true).max() < 0.06 * true.std()


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("activation", FUSED)
def test_activation_and_residual_are_those_of_separate_steps(isa: str, activation: str) -> None:
    for m, n in ((1, 100), (3, 70), (20, 33)):
        x, w, bias = draw(m, n, 24)
        residual = draw(m, 1, n)[0]
        expected = ACTIVATIONS[activation](x.astype(np.float64) @ w.astype(np.float64).T + bias) + residual
        packed = PackedLinear(w, bias)
        assert np.abs(product(packed, x, isa, activation=activation, residual=residual) - expected).max() < 1e-5
        y = residual.copy()
        packed.run(x, y, isa=isa, activation=activation, residual=y)  # in place
        assert np.abs(y - expected).max() < 1e-5


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_nan_reaches_no_other_row(isa: str, kind: str) -> None:
    x, w, bias = draw(9, 40, 50)
    packed = PackedLinear(w, bias, kind)
    clean = product(packed, x, isa)
    for bad in (np.nan, np.inf):
        x[4, 7] = bad
        got = product(packed, x, isa)
        assert not np.isfinite(got[4]).any()
        assert np.array_equal(np.delete(got, 4, 0), np.delete(clean, 4, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_gives_nothing_or_the_bias_out(kind: str) -> None:
    bias = np.arange(3, dtype=np.float32)
    none = PackedLinear(np.zeros((3, 0), dtype=np.float32), bias, kind)
    assert np.array_equal(product(none, np.zeros((2, 0), dtype=np.float32), None), [bias, bias])
    for n, m in ((3, 0), (0, 2)):
        empty = PackedLinear(np.zeros((n, 4), np.float32), None, kind)
        assert product(empty, np.zeros((m, 4), np.float32), None).size == 0


def test_the_packed_matrix_refuses_what_does_not_fit() -> None:
    x, w, bias = draw(3, 5, 4)
    packed = PackedLinear(w, bias)
    with pytest.raises(ValueError, match="x has shape"):
        packed.run(x[:, :3].copy(), np.zeros((3, 5), np.float32))
    with pytest.raises(ValueError, match="contiguous"):
        packed.run(np.zeros((3, 8), np.float32)[:, ::2], np.zeros((3, 5), np.float32))
    with pytest.raises(ValueError, match="activation"):
        packed.run(x, np.zeros((3, 5), np.float32), activation="swish")
    with pytest.raises(ValueError, match="65536"):
        PackedLinear(np.zeros((1, 65537), np.float32), None, "int8")
