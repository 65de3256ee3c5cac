"""Attention whose operands are rounded to bfloat16, on every instruction set, compared with the naive twin."""

from __future__ import annotations

import numpy as np
import pytest

from nn.test_attend import draw, run
from reference import kv
from reference.attention import attention, band
from reference.gradients import rounded_to_bf16
from tokkit._core.nn.linear import rounds_bfloat16
from tokkit._core.text import isas

pytestmark = pytest.mark.threads

# (batch, heads, key heads, queries, keys, head size, value size): at least as many queries as are rounded.
SHAPES = [
    (1, 3, 3, 65, 65, 17, 19),
    (1, 2, 2, 95, 130, 40, 33),
    (2, 4, 2, 64, 64, 64, 64),
    (1, 2, 1, 66, 75, 100, 7),
    (1, 1, 1, 300, 330, 8, 5),
]
LOG2E = np.float32(1.44269504)


def rounded(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the operands as a kernel of bfloat16 has them: queries are scaled before they are rounded."""
    by = np.float32(q.shape[3] ** -0.5) * LOG2E
    scaled = rounded_to_bf16(np.ascontiguousarray(q * by))
    return scaled.astype(np.float64) / by, rounded_to_bf16(k), rounded_to_bf16(v)


def check(got: np.ndarray, plain: np.ndarray, operands: tuple[np.ndarray, ...], isa: str, **masks) -> None:
    """Compare with the twin of rounded operands, or with float32's bits where nothing is rounded."""
    if not rounds_bfloat16(isa, wide=False):
        np.testing.assert_array_equal(got, plain)
        return
    assert not np.array_equal(got, plain)
    q, k, v = rounded(*operands)
    expected, weights = attention(q, k, v, **masks)
    # A weight that is rounded has eight bits.
    most = weights @ np.abs(v).repeat(q.shape[1] // v.shape[1], 1) / 256
    assert (np.abs(got - expected) <= 1.01 * most + 1e-5).all()


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("shape", SHAPES)
def test_rounded_attention_is_that_of_rounded_numbers(isa: str, shape: tuple[int, ...]) -> None:
    operands = draw(shape)
    batch, heads, _, n_queries, n_keys, *_ = shape
    full = (batch, heads, n_queries, n_keys)
    rng = np.random.default_rng(5)
    allow, ignored = rng.random(full) < 0.7, rng.random((batch, n_keys)) < 0.3
    table = rng.standard_normal((heads, n_queries + n_keys - 1)).astype(np.float32)
    distances = table[:, np.arange(n_queries)[:, None] - np.arange(n_keys) + n_keys - 1]
    before = n_keys - n_queries
    for limits in [(0, None, None), (before, None, 0), (before, 70, 0), (before, 9, 4), (-20, None, 0)]:
        sees = band(n_queries, n_keys, offset=limits[0], left=limits[1], right=limits[2])
        for masks, seen, more in (
            ({}, sees, {}),
            ({"allow": allow.view(np.uint8)}, sees & allow, {}),
            ({"ignored": ignored.view(np.uint8)}, sees & ~ignored[:, None, None], {}),
            ({"by_distance": table, "zero": n_keys - 1}, sees, {"add": distances}),
        ):
            plain, got = (run(*operands, limits, isa=isa, narrow=narrow, **masks) for narrow in (False, True))
            check(got, plain, operands, isa, sees=np.broadcast_to(seen, full), **more)
            for threads in (2, 5):
                again = run(*operands, limits, isa=isa, narrow=True, threads=threads, **masks)
                assert np.array_equal(again, got)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_smaller_keys_and_values_are_rounded_as_what_they_are(isa: str, dtype: str) -> None:
    q, k, v = draw((1, 4, 2, 70, 180, 64, 64))
    scales = {}
    if dtype == "int8":
        (few, k_scales), (few_v, v_scales) = kv.int8(k), kv.int8(v)
        scales = {"k_scales": k_scales[0], "v_scales": v_scales[0]}
        k, v = few * k_scales[..., None], few_v * v_scales[..., None]
    else:
        few, few_v = kv.bfloat16(k), kv.bfloat16(v)
        k, v = kv.from_bfloat16(few), kv.from_bfloat16(few_v)
    sees = np.broadcast_to(band(70, 180, offset=110, right=0), (1, 4, 70, 180))
    plain, got = (run(q, few, few_v, (110, None, 0), isa=isa, narrow=one, **scales) for one in (False, True))
    check(got, plain, (q, np.float32(k), np.float32(v)), isa, sees=sees)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("n_queries", [1, 4, 63])
def test_few_queries_are_never_rounded(isa: str, n_queries: int) -> None:
    operands = draw((1, 4, 2, n_queries, 90, 32, 32))
    assert np.array_equal(run(*operands, isa=isa, narrow=True), run(*operands, isa=isa))


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("n", [70, 71])
def test_what_no_query_sees_is_kept_out_of_rounded_sums(isa: str, n: int) -> None:
    q, k, v = draw((1, 2, 1, n, n, 20, 20))
    clean = run(q, k, v, (0, None, 0), isa=isa, narrow=True)
    for bad in (np.nan, np.inf):
        for at in (0, 1, 16, 17, 32, n - 1):
            kx, vx = k.copy(), v.copy()
            kx[:, :, at], vx[:, :, at] = bad, bad
            got = run(q, kx, vx, (0, None, 0), isa=isa, narrow=True)
            # Where NaN has to be kept out of a tile, its weights are not rounded.
            np.testing.assert_allclose(got[:, :, :at], clean[:, :, :at], atol=0.02)
            assert np.isnan(got[:, :, at:]).all()


@pytest.mark.parametrize("isa", isas())
def test_a_later_token_changes_no_bit_of_an_earlier_rounded_output(isa: str) -> None:
    q, k, v = draw((1, 3, 3, 101, 101, 33, 32))
    before = run(q, k, v, (0, None, 0), isa=isa, narrow=True)
    for array in (q, k, v):
        array[:, :, 60:] += 1
    assert np.array_equal(run(q, k, v, (0, None, 0), isa=isa, narrow=True)[:, :, :60], before[:, :, :60])


@pytest.mark.parametrize("isa", isas())
def test_nothing_to_see_gives_zeros(isa: str) -> None:
    q, k, v = draw((1, 2, 1, 64, 40, 16, 16))
    for limits in ((-90, None, 0), (200, 5, 0)):
        assert not run(q, k, v, limits, isa=isa, narrow=True).any()
