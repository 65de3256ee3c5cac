"""The public attention, compared with torch and the naive twin, and its errors for bad input."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from extras import extra
from nn.stacks import draw
from reference.attention import attention as naive
from reference.attention import band
from tokkit import nn
from tokkit.errors import OptionError, ShapeError

sdpa = nn.scaled_dot_product_attention


@pytest.mark.parametrize("t", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize(("heads", "kv_heads", "d"), [(1, 1, 16), (4, 2, 64), (32, 8, 128), (2, 1, 256), (3, 3, 20)])
def test_attention_equals_that_of_torch(t: int, heads: int, kv_heads: int, d: int) -> None:
    torch = extra("torch")
    if t == 1000 and heads == 32:
        heads, kv_heads = 8, 2
    theirs = torch.nn.functional.scaled_dot_product_attention
    q, k, v = draw(2, heads, t, d), draw(2, kv_heads, t, d, seed=1), draw(2, kv_heads, t, d, seed=2)
    rng = np.random.default_rng(4)
    allow = rng.random((2, 1, t, t)) < 0.8
    allow[..., 0] = True
    for options in (
        {},
        {"is_causal": True},
        {"attn_mask": allow},
        {"attn_mask": draw(heads, t, t), "scale": 1.3 / d**0.5},
    ):
        given = {name: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for name, x in options.items()}
        expected = theirs(*map(torch.from_numpy, (q, k, v)), enable_gqa=heads != kv_heads, **given).numpy()
        got = sdpa(q, k, v, enable_gqa=heads != kv_heads, **options)
        assert np.abs(got - expected).max() < 5e-6, list(options)


def test_missing_batches_and_heads_are_those_of_one() -> None:
    q, k, v = draw(3, 7, 8), draw(3, 9, 8), draw(3, 9, 4)
    whole = sdpa(q[None], k[None], v[None])
    assert np.array_equal(sdpa(q, k, v), whole[0])
    assert np.array_equal(sdpa(q[1], k[1], v[1]), whole[0, 1])
    mask = np.random.default_rng(0).random((7, 9)) < 0.5
    assert np.array_equal(sdpa(q, k, v, mask)[1], sdpa(q[1], k[1], v[1], mask))


@pytest.mark.parametrize("options", [{}, {"is_causal": True, "causal_offset": 3}, {"window": (2, 1)}])
def test_the_weights_are_those_that_made_the_output(options: dict[str, object]) -> None:
    q, k, v = draw(2, 4, 10, 8), draw(2, 2, 13, 8), draw(2, 2, 13, 8)
    out, weights = sdpa(q, k, v, enable_gqa=True, return_weights=True, **options)
    np.testing.assert_allclose(weights @ v.repeat(2, 1), out, atol=2e-6)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("window", "causal", "left", "right"),
    [(3, True, 2, 0), (3, False, 2, 2), ((4, 1), False, 4, 1), ((None, 2), False, None, 2), ((5, None), True, 5, 0)],
)
def test_windows_see_what_they_say(window: object, causal: bool, left: int | None, right: int | None) -> None:
    q, k, v = draw(1, 2, 70, 8), draw(1, 2, 90, 8), draw(1, 2, 90, 8)
    for offset in (0, 20):
        sees = band(70, 90, offset=offset, left=left, right=right)
        expected, _ = naive(q, k, v, sees=sees)
        got = sdpa(q, k, v, is_causal=causal, window=window, causal_offset=offset)
        np.testing.assert_allclose(got, expected, atol=3e-6)


def test_rows_that_see_nothing_are_zero() -> None:
    q, k, v = draw(1, 2, 20, 8), draw(1, 2, 20, 8), draw(1, 2, 20, 8)
    mask = np.ones((20, 20), dtype=bool)
    mask[[0, 7]] = False
    added = np.where(mask, 0, -np.inf)
    for given in (mask, added):
        out, weights = sdpa(q, k, v, given, return_weights=True)
        assert not out[:, :, [0, 7]].any()
        assert not weights[:, :, [0, 7]].any()
        assert np.isfinite(out).all()
    assert not sdpa(q, k, v, is_causal=True, causal_offset=-5)[:, :, :5].any()
    assert not nn.attention(q, k, v, key_padding_mask=np.ones((1, 20), dtype=bool)).any()


def test_other_types_and_layouts_are_converted() -> None:
    q, k, v = draw(2, 3, 9, 8), draw(2, 3, 9, 8), draw(2, 3, 9, 8)
    expected = sdpa(q, k, v)
    assert np.array_equal(sdpa(q.astype(np.float64), k.astype(np.float64), v.astype(np.float64)), expected)
    half = sdpa(*(x.astype(np.float16) for x in (q, k, v)))
    assert half.dtype == np.float32
    np.testing.assert_allclose(half, expected, atol=1e-2)
    assert np.array_equal(sdpa(*(np.asfortranarray(x) for x in (q, k, v))), expected)
    wide = np.concatenate([q, k, v], axis=-1)
    assert np.array_equal(sdpa(wide[..., :8], wide[..., 8:16], wide[..., 16:]), expected)
    assert np.array_equal(sdpa(q[:, :, ::-1], k, v)[:, :, ::-1], expected)
    assert np.array_equal(sdpa(q.tolist(), k.tolist(), v.tolist()), expected)


def test_nothing_in_gives_nothing_out() -> None:
    for shape in ((0, 2, 5, 8), (2, 0, 5, 8), (2, 2, 0, 8)):
        q = draw(*shape)
        if shape[1]:
            assert sdpa(q, q, q).shape == shape
    assert not sdpa(draw(1, 2, 5, 8), draw(1, 2, 0, 8), draw(1, 2, 0, 8)).any(), "no key: zeros"
    assert sdpa(draw(1, 2, 5, 8), draw(1, 2, 4, 8), draw(1, 2, 4, 0)).shape == (1, 2, 5, 0)


def test_packed_and_padded_batches_agree() -> None:
    lengths, t = [5, 1, 70, 0, 12], 70
    starts = np.cumsum([0, *lengths])
    x = [draw(1, 4, n, 8, seed=i) for i, n in enumerate(lengths)]
    padded = np.zeros((5, 4, t, 8), dtype=np.float32)
    for i, n in enumerate(lengths):
        padded[i, :, :n] = x[i][0]
    ignore = np.arange(t) >= np.array(lengths)[:, None]
    packed = np.concatenate(x, axis=2)
    for options in ({}, {"is_causal": True}, {"window": 4}):
        whole = nn.attention(padded, padded, padded, key_padding_mask=ignore, **options)
        got = nn.attention(packed, packed, packed, cu_seqlens=starts, **options)
        for i, n in enumerate(lengths):
            np.testing.assert_allclose(got[0, :, starts[i] : starts[i + 1]], whole[i, :, :n], atol=2e-6)


def test_blocks_and_global_tokens_make_sparse_attention() -> None:
    # Longformer: a window, and a few tokens that see and are seen by all, as a boolean mask.
    q = draw(1, 2, 200, 8)
    near = np.abs(np.subtract.outer(np.arange(200), np.arange(200))) <= 8
    near[:2] = near[:, :2] = True
    expected, _ = naive(q, q, q, sees=near)
    np.testing.assert_allclose(sdpa(q, q, q, near), expected, atol=3e-6)
    blocks = np.eye(4, dtype=bool)
    expected, _ = naive(q, q, q, sees=blocks.repeat(64, 0).repeat(64, 1)[:200, :200])
    np.testing.assert_allclose(nn.attention(q, q, q, block_mask=blocks), expected, atol=3e-6)


def test_dropout_keeps_the_mean_and_follows_its_seed() -> None:
    q, k, v = draw(1, 2, 50, 8), draw(1, 2, 60, 8), np.ones((1, 2, 60, 4), dtype=np.float32)
    one, two, three = (nn.attention(q, k, v, dropout_p=0.25, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)
    assert one.mean() == pytest.approx(1, abs=0.05)
    assert not sdpa(q, k, v, dropout_p=1.0).any()


def test_an_output_buffer_is_used_and_may_be_strided() -> None:
    q = draw(2, 3, 9, 8)
    expected = sdpa(q, q, q)
    buffer = np.zeros((2, 9, 3, 8), dtype=np.float32)
    view = buffer.transpose(0, 2, 1, 3)
    assert nn.attention(q, q, q, out=view) is view
    assert np.array_equal(view, expected)
    for bad in (np.zeros((2, 3, 9, 7), np.float32), np.zeros((2, 3, 9, 16), np.float32)[..., ::2]):
        with pytest.raises(ShapeError, match="out"):
            nn.attention(q, q, q, out=bad)
    with pytest.raises(TypeError, match="float64"):
        nn.attention(q, q, q, out=np.zeros((2, 3, 9, 8)))


def test_memory_grows_with_the_length_and_not_with_its_square() -> None:
    t = 6000
    q = draw(1, 1, t, 32)
    tracemalloc.start()
    sdpa(q, q, q, is_causal=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * q.nbytes  # T × T would be 47 times as much; the kernel's own room is 200 kB a thread


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (((2, 4, 5, 8), (2, 4, 6, 7), (2, 4, 6, 7)), r"\(2, 4, 5, 8\).*\(2, 4, 6, 7\).*head size"),
        (((2, 4, 5, 8), (1, 4, 6, 8), (1, 4, 6, 8)), "batch"),
        (((2, 4, 5, 8), (2, 4, 6, 8), (2, 4, 7, 8)), r"\(2, 4, 7, 8\).*length"),
        (((2, 4, 5, 8), (2, 2, 6, 8), (2, 2, 6, 8)), "enable_gqa"),
        (((5,), (5,), (5,)), r"\(B, H, T, D\)"),
        (((2, 4, 5, 8), (4, 5, 8), (4, 5, 8)), "all of them without B"),
    ],
)
def test_shapes_that_do_not_fit_are_named_with_the_rule(shapes: tuple[tuple[int, ...], ...], says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        sdpa(*(draw(*shape) for shape in shapes))


def test_bad_masks_and_options_say_what_would_be_right() -> None:
    q = draw(2, 4, 5, 8)
    with pytest.raises(ShapeError, match="4 heads and key 3"):
        sdpa(q, q[:, :3], q[:, :3], enable_gqa=True)
    with pytest.raises(TypeError, match=r"int64.*True = attend"):
        sdpa(q, q, q, np.ones((5, 5), dtype=np.int64))
    with pytest.raises(TypeError, match="int64; give floating point"):
        sdpa(np.ones((1, 1, 2, 2), dtype=np.int64), q, q)
    with pytest.raises(ShapeError, match=r"attn_mask has shape \(5, 6\); it must broadcast to \(2, 4, 5, 5\)"):
        sdpa(q, q, q, np.ones((5, 6), dtype=bool))
    with pytest.raises(TypeError, match=r"key_padding_mask.*ignored"):
        nn.attention(q, q, q, key_padding_mask=np.ones((2, 5)))
    with pytest.raises(ShapeError, match=r"\(batch, keys\)"):
        nn.attention(q, q, q, key_padding_mask=np.ones((2, 4), dtype=bool))
    for window in (0, -1, (1, -2), (1,), 2.5, (1, 2, 3)):
        with pytest.raises((OptionError, TypeError), match=r"window|iterable"):
            sdpa(q, q, q, window=window)
    for offset in (1.5, True, 2**60):
        with pytest.raises(OptionError, match="causal_offset"):
            sdpa(q, q, q, is_causal=True, causal_offset=offset)
    with pytest.raises(OptionError, match="multiple of 64"):
        nn.attention(q, q, q, block_mask=np.ones((1, 1), dtype=bool), block_size=10)
    with pytest.raises(ShapeError, match="must rise from 0 to the 5 rows"):
        nn.attention(q[:1], q[:1], q[:1], cu_seqlens=[0, 3])
    with pytest.raises(ShapeError, match="batch of 1"):
        nn.attention(q, q, q, cu_seqlens=[0, 5])
    with pytest.raises(OptionError, match="packed sequences can only have"):
        nn.attention(q[:1], q[:1], q[:1], cu_seqlens=[0, 5], mask=np.ones((5, 5), dtype=bool))
    with pytest.raises(ShapeError, match="need 4 before it and 5 from it on"):
        nn.attention(q, q, q, bias=nn.DistanceBias(np.zeros((4, 8), np.float32), 4))
    with pytest.raises(OptionError, match="dropout_p"):
        sdpa(q, q, q, dropout_p=1.5)
