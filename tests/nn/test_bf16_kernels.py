"""Products of bfloat16 numbers, and bfloat16 arrays, on every instruction set, compared with a naive twin."""

from __future__ import annotations

import numpy as np
import pytest

from reference.gradients import rounded_to_bf16
from tokkit._core.grad import backward as backward_core
from tokkit._core.grad import optim as optim_core
from tokkit._core.text import isas

pytestmark = pytest.mark.threads


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dots", [None, False, True])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 1, 1), (7, 33, 5), (100, 40, 601), (97, 1030, 17), (13, 5, 0), (64, 64, 64), (90, 2090, 1585)]
)
def test_products_of_bf16_are_those_of_rounded_numbers(isa: str, dots: bool | None, m: int, n: int, k: int) -> None:
    a, b, add = draw(m, k), draw(k, n), draw(m, n)
    wanted = rounded_to_bf16(a).astype(np.float64) @ rounded_to_bf16(b).astype(np.float64) + add
    for left in (a, np.ascontiguousarray(a.T).T):
        made = []
        for right in (b, np.ascontiguousarray(b.T).T):
            for threads in (1, 3):
                sums = add.copy()
                backward_core.matmul(left, right, sums, sums, bf16=True, dots=dots, isa=isa, threads=threads)
                np.testing.assert_allclose(sums, wanted, atol=1e-5 * max(1, np.abs(wanted).max()))
                made.append(sums)
        assert all(np.array_equal(each, made[0]) for each in made)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 3), (70, 2100, 19), (100, 40, 801), (5, 9, 0)])
def test_sums_of_rows_are_added_beside_a_product(isa: str, bf16: bool, m: int, n: int, k: int) -> None:
    a, b = draw(m, k), draw(k, n)
    for left in (a, np.ascontiguousarray(a.T).T):
        made = []
        for threads in (1, 2, 5):
            sums, out = np.ones(m, dtype=np.float32), np.empty((m, n), dtype=np.float32)
            backward_core.matmul(left, b, out, a_sums=sums, bf16=bf16, threads=threads, isa=isa)
            np.testing.assert_allclose(sums, 1 + a.sum(1, dtype=np.float64), atol=1e-5 * max(k, 1) ** 0.5)
            made.append(sums)
        assert all(np.array_equal(each, made[0]) for each in made)
    with pytest.raises(ValueError, match="a_sums has"):
        backward_core.matmul(a, b, out, a_sums=np.ones(m + 1, dtype=np.float32))


@pytest.mark.parametrize("isa", isas())
def test_arrays_are_rounded_to_the_nearest_and_ties_to_even(isa: str) -> None:
    bits = np.random.default_rng(4).integers(0, 1 << 32, 70_001, dtype=np.uint32)
    bits[:12] = (
        0, 0x80000000, 0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FFFFFFF,
        0x7F800001, 1,
    )  # fmt: skip
    x = bits.view(np.float32)
    wanted = rounded_to_bf16(x)
    for threads in (1, 3):
        half, held, again = np.empty(x.size, dtype=np.uint16), x.copy(), np.empty_like(x)
        optim_core.round_to_bf16(held, half, threads=threads, isa=isa)
        np.testing.assert_array_equal(held.view(np.uint32), bits)
        optim_core.widen_bf16(half, again, threads=threads, isa=isa)
        optim_core.round_to_bf16(held, half, in_place=True, threads=threads, isa=isa)
        for made in (again, held):
            np.testing.assert_array_equal(np.isnan(made), np.isnan(x))
            there = ~np.isnan(x)
            np.testing.assert_array_equal(made[there].view(np.uint32), wanted[there].view(np.uint32))
    with pytest.raises(ValueError, match="entries; it must have"):
        optim_core.widen_bf16(half, x[1:].copy())
    with pytest.raises(ValueError, match="entries; it must have"):
        optim_core.round_to_bf16(x[1:].copy(), half)
