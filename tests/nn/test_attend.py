"""The attention kernels of every instruction set, compared with the naive twin."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from reference import kv
from reference.attention import attention, band
from tokkit._core.nn.attention import BLOCK, FAR, attend
from tokkit._core.text import isas

pytestmark = pytest.mark.threads

# (batch, heads, key heads, queries, keys, head size, value size): about the sizes of blocks, tiles and vectors.
SHAPES = [
    (1, 1, 1, 1, 1, 16, 16),
    (2, 4, 2, 1, 70, 16, 16),
    (1, 3, 3, 65, 65, 17, 19),
    (1, 8, 1, 1, 300, 64, 64),
    (1, 2, 2, 63, 130, 40, 33),
    (1, 2, 1, 64, 64, 64, 64),
    (1, 32, 8, 2, 129, 128, 128),
    (1, 5, 5, 3, 9, 7, 5),
    (1, 4, 1, 4, 257, 96, 80),
    (1, 1, 1, 33, 40, 256, 256),
]
BANDS = [(0, None, None), (0, None, 0), (7, None, 0), (3, 5, 0), (2, 9, 4), (-40, None, 0)]
TOLERANCE = 3e-6  # of outputs of order 1


def draw(shape: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, ...]:
    batch, heads, kv_heads, n_queries, n_keys, d, dv = shape
    rng = np.random.default_rng([seed, *shape])
    shapes = ((batch, heads, n_queries, d), (batch, kv_heads, n_keys, d), (batch, kv_heads, n_keys, dv))
    return tuple(rng.standard_normal(s, dtype=np.float32) for s in shapes)


def far(limits: tuple[int, int | None, int | None]) -> tuple[int, int, int]:
    offset, left, right = limits
    return offset, FAR if left is None else left, FAR if right is None else right


def run(q, k, v, limits=(0, None, None), *, isa, threads=1, **masks) -> np.ndarray:
    out = np.full((*q.shape[:3], v.shape[3]), np.nan, dtype=np.float32)
    attend(q, k, v, out, q.shape[3] ** -0.5, far(limits), isa=isa, threads=threads, **masks)
    return out


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("shape", SHAPES)
def test_attention_is_that_of_the_formula_under_every_mask(isa: str, shape: tuple[int, ...]) -> None:
    batch, heads, _, n_queries, n_keys, *_ = shape
    q, k, v = draw(shape)
    rng = np.random.default_rng(5)
    full = (batch, heads, n_queries, n_keys)
    allow, ignored = rng.random(full) < 0.7, rng.random((batch, n_keys)) < 0.3
    ignored[:, n_keys - n_keys // 3 :] = True
    add = np.where(rng.random(full) < 0.1, -np.inf, rng.standard_normal(full)).astype(np.float32)
    table = rng.standard_normal((heads, n_queries + n_keys - 1)).astype(np.float32)
    distances = table[:, np.arange(n_queries)[:, None] - np.arange(n_keys) + n_keys - 1]
    for limits in BANDS if n_queries * n_keys < 5000 else BANDS[::2]:
        sees = band(n_queries, n_keys, offset=limits[0], left=limits[1], right=limits[2])
        for masks, seen, added in (
            ({}, sees, None),
            ({"allow": allow.view(np.uint8)}, sees & allow, None),
            ({"add": add}, sees, add),
            ({"ignored": ignored.view(np.uint8)}, sees & ~ignored[:, None, None], None),
            ({"by_distance": table, "zero": n_keys - 1}, sees, distances),
        ):
            expected, _ = attention(q, k, v, sees=np.broadcast_to(seen, full), add=added)
            got = run(q, k, v, limits, isa=isa, threads=2, **masks)
            assert np.abs(got - expected).max() < TOLERANCE, (limits, list(masks))


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("shape", [(1, 4, 2, 1, 70, 16, 16), (1, 3, 3, 65, 65, 17, 19), (1, 2, 1, 4, 257, 96, 80)])
def test_capped_scores_are_those_of_the_formula(isa: str, shape: tuple[int, ...]) -> None:
    q, k, v = draw(shape)
    q *= 30  # so that some scores are near the cap
    table = np.random.default_rng(5).standard_normal((shape[1], shape[3] + shape[4] - 1)).astype(np.float32)
    distances = table[:, np.arange(shape[3])[:, None] - np.arange(shape[4]) + shape[4] - 1]
    expected, _ = attention(q, k, v, cap=20.0, add=distances)
    got = run(q, k, v, isa=isa, cap=20.0, by_distance=table, zero=shape[4] - 1)
    assert np.abs(got - expected).max() < 2e-5


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
@pytest.mark.parametrize("shape", [(1, *shape[1:]) for shape in SHAPES])
def test_smaller_keys_and_values_are_read_as_what_they_are(isa: str, dtype: str, shape: tuple[int, ...]) -> None:
    q, k, v = draw(shape)
    n_queries, n_keys = shape[3:5]
    scales = {}
    if dtype == "int8":
        (k16, k_scales), (v16, v_scales) = kv.int8(k), kv.int8(v)
        scales = {"k_scales": k_scales[0], "v_scales": v_scales[0]}
        k, v = k16 * k_scales[..., None], v16 * v_scales[..., None]
    else:
        k16, v16 = kv.bfloat16(k), kv.bfloat16(v)
        k, v = kv.from_bfloat16(k16), kv.from_bfloat16(v16)
    for limits in ((0, None, None), (n_keys - n_queries, None, 0), (3, 5, 0)):
        sees = band(n_queries, n_keys, offset=limits[0], left=limits[1], right=limits[2])
        expected, _ = attention(q, k, v, sees=np.broadcast_to(sees, (1, shape[1], n_queries, n_keys)))
        got = run(q, k16, v16, limits, isa=isa, **scales)
        # Queries have 16 bits beside int8.
        assert np.abs(got - expected).max() < (1e-4 if dtype == "int8" else TOLERANCE), limits
    bad = q.copy()
    bad[0, 0, 0, 3] = np.nan
    assert np.isnan(run(bad, k16, v16, isa=isa, **scales)[0, 0, 0]).all()


@pytest.mark.parametrize("isa", isas())
def test_a_long_sequence_is_as_exact_as_a_short_one(isa: str) -> None:
    q, k, v = draw((1, 2, 1, 1000, 1000, 24, 24))
    for limits in ((0, None, None), (0, None, 0), (0, 100, 100)):
        some = slice(970, 1000)
        sees = band(1000, 1000, left=limits[1], right=limits[2])[some]
        expected, _ = attention(q[:, :, some], k, v, sees=sees)
        assert np.abs(run(q, k, v, limits, isa=isa)[:, :, some] - expected).max() < TOLERANCE


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("n_queries", [1, 3, 200])
def test_masks_of_blocks_leave_out_what_boolean_masks_would(isa: str, n_queries: int) -> None:
    q, k, v = draw((1, 2, 2, n_queries, 300, 32, 32))
    blocks = np.random.default_rng(1).random((1, 2, -(-n_queries // BLOCK), -(-300 // BLOCK))) < 0.5
    allow = blocks.repeat(BLOCK, 2).repeat(BLOCK, 3)[:, :, :n_queries, :300]
    got = run(q, k, v, isa=isa, blocks=blocks.view(np.uint8), block=BLOCK)
    np.testing.assert_allclose(got, run(q, k, v, isa=isa, allow=allow.view(np.uint8)), atol=TOLERANCE)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("n_queries", [1, 3, 70])
def test_the_largest_numbers_of_a_mask_are_not_infinite(isa: str, n_queries: int) -> None:
    q, k, v = draw((1, 2, 1, n_queries, 70, 16, 16))
    most = np.finfo(np.float32).max
    for low, high in ((0, most), (-most, 0), (-most, most)):
        add = np.full((1, 2, n_queries, 70), low, dtype=np.float32)
        add[..., 7] = high
        got = run(q, k, v, isa=isa, add=add)
        np.testing.assert_array_equal(got, np.broadcast_to(v[:, :, 7:8], got.shape))


@pytest.mark.parametrize("isa", isas())
def test_what_no_query_sees_is_not_even_looked_at(isa: str) -> None:
    # NaN and infinity in keys and values that are masked, ignored or behind the band: 0 times them is not 0.
    for n_queries in (1, 2, 5, 70):
        q, k, v = draw((1, 2, 1, n_queries, 70, 20, 20))
        clean = run(q, k, v, (0, None, 0), isa=isa)
        for bad in (np.nan, np.inf):
            for at in (0, 1, 17, 69):
                kx, vx = k.copy(), v.copy()
                kx[:, :, at], vx[:, :, at] = bad, bad
                got = run(q, kx, vx, (0, None, 0), isa=isa)
                assert np.array_equal(got[:, :, :at], clean[:, :, :at])
                assert np.isnan(got[:, :, at:]).all()
                ignored = (np.arange(70) == at).view(np.uint8)[None]
                assert np.isfinite(run(q, kx, vx, isa=isa, ignored=ignored)).all()
                allow = np.broadcast_to(1 - ignored, (1, 2, n_queries, 70))
                assert np.isfinite(run(q, kx, vx, isa=isa, allow=np.ascontiguousarray(allow))).all()


@pytest.mark.parametrize("isa", isas())
def test_a_query_of_nan_stays_alone(isa: str) -> None:
    q, k, v = draw((1, 2, 2, 50, 50, 16, 16))
    clean = run(q, k, v, isa=isa)
    q[0, 1, 20] = np.nan
    got = run(q, k, v, isa=isa)
    assert np.isnan(got[0, 1, 20]).all()
    got[0, 1, 20] = clean[0, 1, 20]
    assert np.array_equal(got, clean)


@pytest.mark.parametrize("isa", isas())
def test_extreme_scores_pick_their_key_and_overflow_nowhere(isa: str) -> None:
    for n_queries in (1, 40):
        q, k, v = draw((1, 2, 2, n_queries, 90, 16, 16))
        expected, _ = attention(q * 1e4, k, v)
        assert np.abs(run(q * np.float32(1e4), k, v, isa=isa) - expected).max() < 2e-3
        lowest = np.full((1, 2, n_queries, 90), np.finfo(np.float32).min, dtype=np.float32)
        np.testing.assert_allclose(run(q, k, v, isa=isa, add=lowest)[0, :, 0], v[0].mean(1), atol=1e-5)


@pytest.mark.parametrize("isa", isas())
def test_a_later_token_changes_no_bit_of_an_earlier_output(isa: str) -> None:
    q, k, v = draw((1, 3, 3, 100, 100, 32, 32))
    before = run(q, k, v, (0, None, 0), isa=isa)
    for array in (q, k, v):
        array[:, :, 60:] += 1
    assert np.array_equal(run(q, k, v, (0, None, 0), isa=isa)[:, :, :60], before[:, :, :60])


@pytest.mark.parametrize("isa", isas())
def test_packed_sequences_are_what_they_are_alone(isa: str) -> None:
    lengths = [3, 0, 70, 1, 33]
    starts = np.cumsum([0, *lengths])
    q, k, v = draw((1, 4, 2, starts[-1], starts[-1], 16, 24))
    got = run(q, k, v, (0, None, 0), isa=isa, q_starts=starts, k_starts=starts, threads=2)
    for a, b in pairwise(starts):
        alone = run(q[:, :, a:b], k[:, :, a:b], v[:, :, a:b], (0, None, 0), isa=isa)
        assert np.array_equal(got[:, :, a:b], alone)


@pytest.mark.parametrize("isa", isas())
def test_threads_and_layouts_change_no_bit(isa: str) -> None:
    q, k, v = draw((2, 6, 3, 600, 130, 40, 24))
    expected = run(q, k, v, isa=isa)
    turned = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for x in (q, k, v)]
    for threads in (2, 3, 64):
        assert np.array_equal(run(*turned, isa=isa, threads=threads), expected)


def test_the_kernel_refuses_what_does_not_fit() -> None:
    q, k, v = draw((1, 4, 2, 5, 6, 8, 8))
    strided = q[..., ::2], k[..., :4], v
    for bad in ((q, k[:, :1], v), (q, k[:, :, :5], v), (q, k[..., :7], v), (q[:, :3], k, v), strided):
        with pytest.raises(ValueError, match=r"they must be|heads|contiguous"):
            run(*bad, isa=None)
    for starts in ([0, 6], [1, 5], [0, 4, 3, 5], []):
        with pytest.raises(ValueError, match="starts"):
            run(q, k, v, isa=None, q_starts=np.array(starts, dtype=np.int64), k_starts=np.array(starts, dtype=np.int64))
    with pytest.raises(ValueError, match="isa"):
        run(q, k, v, isa="sse9")


DIGEST = """
import hashlib, numpy as np
from tokkit import nn
config = nn.TransformerConfig(dim=32, n_heads=4, n_layers=2, causal=True, dtype="int8")
x = np.random.default_rng(0).standard_normal((2, 20, 32))
y = nn.Encoder(config, nn.initial(config.shapes(), seed=1, std=0.2))(x)
print(hashlib.sha256(y.tobytes()).hexdigest(), *y[0, 0, :8].tolist())
"""


def test_the_instruction_set_of_a_process_is_that_of_its_environment(run: Callable[..., str]) -> None:
    seen = {name: run(DIGEST, TOKKIT_ISA=name).split() for name in isas()}
    # Not all equal to the last bit: each sums in its own order.
    values = np.array([numbers for _, *numbers in seen.values()], dtype=np.float64)
    assert np.ptp(values, axis=0).max() < 1e-2
    assert run(DIGEST).split() == seen[os.environ.get("TOKKIT_ISA") or isas()[-1]]
