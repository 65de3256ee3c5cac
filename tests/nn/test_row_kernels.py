"""Kernels on rows of every length and instruction set, compared with naive twins."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import LONG
from reference.rows import ACTIVATIONS, layer_norm, rms_norm, rotate, softmax
from tokkit._core.nn import rows as nn
from tokkit._core.text import isas

pytestmark = pytest.mark.threads

COLUMNS = [1, 3, 16, 17, 33, 384, 1000]


def draw(*shape: int) -> np.ndarray:
    return (np.random.default_rng(shape).standard_normal(shape) * 3).astype(np.float32)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("m", COLUMNS)
def test_softmax_and_its_logarithm_are_those_of_the_formula(isa: str, m: int) -> None:
    x = draw(40, m)
    y, p = np.empty_like(x), softmax(x.astype(np.float64))
    nn.softmax(x, y, isa=isa, threads=2)
    np.testing.assert_allclose(y, p, rtol=2e-6)
    nn.softmax(x, y, isa=isa, log=True)
    np.testing.assert_allclose(y, np.log(p), atol=3e-6)
    nn.softmax(x * np.float32(1e4), y, isa=isa)
    np.testing.assert_allclose(y, softmax(x.astype(np.float64) * 1e4), atol=2e-3)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("m", COLUMNS)
def test_norms_with_residuals_are_those_of_the_formulas(isa: str, m: int) -> None:
    x, residual, weight, bias = draw(40, m), draw(40, m)[::-1], draw(m), draw(m)
    y, total = np.empty_like(x), np.empty_like(x)
    nn.norm(x, y, weight, bias, residual=residual, total=total, isa=isa, threads=2)
    assert np.array_equal(total, x + residual)
    np.testing.assert_allclose(y, layer_norm(total.astype(np.float64)) * weight + bias, atol=2e-5)
    nn.norm(x, y, weight, centred=False, isa=isa)
    np.testing.assert_allclose(y, rms_norm(x.astype(np.float64)) * weight, atol=2e-5)
    far = x + np.float32(1000)  # a mean far from 0 costs digits in one-pass formulas
    nn.norm(far, y, isa=isa)
    np.testing.assert_allclose(y, layer_norm(far.astype(np.float64)), atol=3e-3)


PLACES = (
    *((384, 0, 0), (384, 0, 1), (384, 0, 4), (384, 4, 8), (384, 3, 0), (4096, 0, 12), (4097, 0, 0), (1003, 0, 0)),
    *((1004, 0, 0), (260, 20, 4), (100, 0, 0)),
)
"""Numbers of a row, those between rows, and where the first row begins."""


@pytest.mark.parametrize(
    ("isa", "m", "pad", "shift", "centred"),
    [
        (isa, *place, centred)
        for i, isa in enumerate(isas())
        for k, place in enumerate(PLACES)
        for centred in (True, False)
        if LONG or (i + k) % 2 == centred
    ],
)
def test_norms_of_many_rows_are_those_of_a_few(isa: str, m: int, pad: int, shift: int, centred: bool) -> None:
    """More sums than caches hold are written past them, where the rows begin at multiples of 16 bytes."""
    n, step = (1 << 20) // m + 1, m + pad
    x, weight, memory = draw(n, m), draw(m), np.zeros(n * step + 64, dtype=np.float32)
    start = -memory.ctypes.data // 4 % 16 + shift
    whole = memory[start : start + n * step].reshape(n, step)
    y, total, few = whole[:, :m], np.empty_like(x), np.empty((64, m), dtype=np.float32)
    for residual in (None, x[::-1]):
        for sums in (None, total) if residual is not None else (None,):
            y.fill(0)
            nn.norm(x, y, weight, residual=residual, total=sums, centred=centred, isa=isa, threads=2)
            for first in (0, n // 2, n - 64):
                part = slice(first, first + 64)
                nn.norm(
                    x[part], few, weight, residual=None if residual is None else residual[part], centred=centred,
                    isa=isa,
                )  # fmt: skip
                np.testing.assert_array_equal(y[part], few)
    assert np.array_equal(total, x + x[::-1])
    assert not whole[:, m:].any()
    assert not memory[:start].any()
    assert not memory[start + n * step :].any()
    expected = y.copy()
    y[:] = x  # written over what is read: over x, then over the other
    nn.norm(y, y, weight, residual=x[::-1], centred=centred, isa=isa, threads=2)
    np.testing.assert_array_equal(y, expected)
    y[:] = x[::-1]
    nn.norm(x, y, weight, residual=y, centred=centred, isa=isa, threads=2)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("name", nn.ACTIVATIONS)
def test_activations_are_those_of_the_formulas(isa: str, name: str) -> None:
    x = np.linspace(-30, 30, 60011, dtype=np.float32)[None]
    y, expected = np.empty_like(x), ACTIVATIONS[name](x.astype(np.float64))
    nn.activate(x, y, name, isa=isa)
    assert (np.abs(y - expected) / np.maximum(1, np.abs(expected))).max() < 1e-6
    bias, other, gated = draw(60011), draw(1, 60011), np.empty_like(x)
    nn.gate(x, other, gated, name, isa=isa)
    np.testing.assert_array_equal(gated, y * other)
    nn.activate(x, y, name, bias, isa=isa)
    with_bias = ACTIVATIONS[name]((x + bias).astype(np.float64))
    assert (np.abs(y - with_bias) / np.maximum(1, np.abs(with_bias))).max() < 1e-6


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("name", nn.ACTIVATIONS)
def test_activations_keep_nan_and_their_limits(isa: str, name: str) -> None:
    x = np.array([[np.nan, 1e30, -1e30, np.inf, 0, 200, -200, 3e38]] * 5, dtype=np.float32).reshape(1, -1)
    y = np.empty_like(x)
    nn.activate(x, y, name, isa=isa)
    assert np.isnan(y[x != x]).all()
    with np.errstate(all="ignore"):
        expected = ACTIVATIONS[name](np.clip(x.astype(np.float64), -1e100, 1e100)).astype(np.float32)
    ordinary = (x == x) & (np.abs(x) <= 200)
    np.testing.assert_allclose(y[ordinary], expected[ordinary], rtol=1e-6, atol=1e-6)
    assert not np.isnan(y[(x == x) & (x < 1e38)]).any()


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("d", "half"), [(64, 32), (64, 16), (7, 3), (34, 17), (6, 0), (128, 64)])
def test_rotations_are_those_of_complex_numbers(isa: str, pairs: bool, d: int, half: int) -> None:
    x, angles = draw(2, 3, 5, d), draw(2, 3, 5, half)
    y = np.empty_like(x)
    nn.rotate(x, y, np.cos(angles), np.sin(angles), pairs=pairs, isa=isa, threads=2)
    np.testing.assert_allclose(y, rotate(x, angles, pairs=pairs), atol=3e-6)
    nn.rotate(x, x, np.cos(angles), np.sin(angles), pairs=pairs, isa=isa)
    assert np.array_equal(x, y), "in place"


@pytest.mark.parametrize("isa", isas())
def test_gathered_rows_are_the_rows_and_ids_outside_are_named(isa: str) -> None:
    table, ids = draw(50, 33), np.random.default_rng(1).integers(0, 50, 200)
    y = np.empty((200, 33), dtype=np.float32)
    nn.gather(table, ids, y, isa=isa, threads=2)
    assert np.array_equal(y, table[ids])
    for bad in (-1, 50, 2**40):
        ids[7] = bad
        with pytest.raises(IndexError, match=rf"ids\[7\] is {bad}"):
            nn.gather(table, ids, y, isa=isa)


def test_the_row_kernels_refuse_what_does_not_fit() -> None:
    x = draw(3, 8)
    for call in (
        lambda: nn.softmax(x, np.empty((3, 7), np.float32)),
        lambda: nn.softmax(x[:, ::2], np.empty((3, 4), np.float32)),
        lambda: nn.norm(x, x.copy(), np.ones(7, np.float32)),
        lambda: nn.norm(x, x.copy(), residual=x[:2]),
        lambda: nn.gate(x, x[:2], x.copy(), "silu"),
        lambda: nn.rotate(x[None, None], x[None, None], *[np.ones((1, 1, 3, 5), np.float32)] * 2),
        lambda: nn.activate(x, x, "swish"),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - each says its own
            call()
