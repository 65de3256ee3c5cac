"""Sparse attention equals dense attention with the same mask, and its patterns are those of their papers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nn.stacks import draw
from reference.attention import attention as naive
from tokkit import nn
from tokkit._core.nn.attention import BLOCK, FAR, BlockLists, attend
from tokkit._core.text import isas
from tokkit.errors import OptionError, ShapeError

pytestmark = pytest.mark.threads


def rule_of(pattern: object, i: int, j: int) -> bool:
    """Say whether query i sees key j, in the words of the papers."""
    match pattern:
        case nn.SlidingWindow(window, dilation):
            return j in [i + side * step * dilation for step in range(window) for side in (-1, 1)]
        case nn.GlobalTokens(positions):
            return i in positions or j in positions
        case nn.Strided(stride):
            return i - stride < j <= i or (i - j) % stride == 0
    raise AssertionError(pattern)


PATTERNS = [
    [nn.SlidingWindow(20)],
    [nn.SlidingWindow(5, dilation=30)],
    [nn.SlidingWindow(3, dilation=70), nn.GlobalTokens((0, 100))],
    [nn.SlidingWindow(9), nn.GlobalTokens((3, 1000))],
    [nn.Strided(11)],
    [nn.Strided(90)],
]


@pytest.mark.parametrize("patterns", PATTERNS)
@pytest.mark.parametrize("causal", [False, True])
def test_masks_are_what_the_patterns_say(patterns: list[object], causal: bool) -> None:
    n = 150
    expected = np.array([[any(rule_of(p, i, j) for p in patterns) for j in range(n)] for i in range(n)])
    expected &= np.tri(n, dtype=bool) | (not causal)
    mask = nn.BlockMask(n, patterns, is_causal=causal)
    assert np.array_equal(mask.dense()[0], expected)
    assert mask.n_blocks == np.pad(expected, ((0, 42), (0, 42))).reshape(3, 64, 3, 64).any((1, 3)).sum()


def test_random_blocks_are_drawn_by_their_seed_and_differ_by_row() -> None:
    mask = nn.BlockMask(1000, [nn.RandomBlocks(3, seed=4)])
    assert np.array_equal(mask.dense(), nn.BlockMask(1000, [nn.RandomBlocks(3, seed=4)]).dense())
    assert not np.array_equal(mask.dense(), nn.BlockMask(1000, [nn.RandomBlocks(3, seed=5)]).dense())
    assert (mask.n_blocks, mask.n_masks) == (3 * 16, 0)
    causal = nn.BlockMask(1000, [nn.RandomBlocks(3, seed=4)], is_causal=True)
    assert causal.n_blocks == 1 + 2 + 3 * 14
    assert not np.triu(causal.dense()[0], 1).any()


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("lengths", [(1, 1), (64, 64), (150, 150), (200, 130), (3, 300)])
def test_lists_of_blocks_give_what_the_formula_gives_with_the_mask(isa: str, lengths: tuple[int, int]) -> None:
    n_queries, n_keys = lengths
    q, k, v = draw(2, 4, n_queries, 24), draw(2, 2, n_keys, 24, seed=1), draw(2, 2, n_keys, 17, seed=2)
    rng = np.random.default_rng(5)
    # Blocks that are seen whole, in part and not at all, other ones for each head.
    part = rng.random((4, n_queries, n_keys)) < 0.3
    whole, none = (rng.random((4, 5, 5)) < p for p in (0.4, 0.3))
    wide = [a.repeat(BLOCK, 1).repeat(BLOCK, 2)[:, :n_queries, :n_keys] for a in (whole, none)]
    sees = (part | wide[0]) & ~wide[1]
    sees[:, 0] = False
    v[0, 0, ~sees[:2].any((0, 1))] = np.nan
    mask, out = nn.BlockMask.of(sees), np.full((2, 4, n_queries, 17), np.nan, np.float32)
    assert np.array_equal(mask.dense(), sees)
    ignored = rng.random((2, n_keys)) < 0.2
    v[1, :, np.flatnonzero(ignored[1])[:1]] = np.nan
    for hidden in (None, ignored):
        if hidden is None:
            seen, values = sees[None], np.nan_to_num(v) if n_queries > 3 else v
        else:
            seen, values = sees[None] & ~hidden[:, None, None], v
        padding = None if hidden is None else hidden.view(np.uint8)
        attend(q, k, values, out, 24**-0.5, (0, FAR, FAR), lists=mask._lists, ignored=padding, isa=isa, threads=2)
        expected, _ = naive(q, k, values, sees=np.broadcast_to(seen, (2, 4, n_queries, n_keys)))
        np.testing.assert_allclose(out, expected, atol=3e-6)


def test_sparse_attention_is_dense_attention_with_its_mask() -> None:
    n = 700
    q, k, v = draw(1, 4, n, 32), draw(1, 2, n, 32, seed=1), draw(1, 2, n, 32, seed=2)
    big_bird = [nn.SlidingWindow(64), nn.GlobalTokens((0, 1)), nn.RandomBlocks(2, seed=0)]
    for causal in (False, True):
        mask = nn.BlockMask(n, big_bird, is_causal=causal)
        expected = nn.attention(q, k, v, mask=mask.dense())
        np.testing.assert_allclose(nn.sparse_attention(q, k, v, mask), expected, atol=3e-6)
    window = nn.BlockMask(n, [nn.SlidingWindow(100)], is_causal=True)
    expected = nn.attention(q, k, v, window=100, is_causal=True, scale=0.5)
    np.testing.assert_allclose(nn.sparse_attention(q, k, v, window, scale=0.5), expected, atol=3e-6)
    assert window.density < 0.35
    per_head = nn.BlockMask.of_heads(nn.BlockMask(n, [nn.SlidingWindow(20, d)]) for d in (1, 2, 3, 9))
    expected = nn.attention(q, k, v, mask=per_head.dense())
    np.testing.assert_allclose(nn.sparse_attention(q, k, v, per_head, out=q), expected, atol=3e-6)


def test_a_layer_is_that_of_multi_head_attention_with_the_mask() -> None:
    config = nn.TransformerConfig(dim=16, n_heads=4, n_kv_heads=2, rope=nn.RopeConfig(head_dim=4))
    weights, x = nn.initial(config.attention_shapes(), seed=5, std=0.4), draw(2, 150, 16)
    mask = nn.BlockMask(150, [nn.SlidingWindow(20), nn.GlobalTokens((7,))])
    got = nn.SparseMultiHeadAttention(config, weights)(x, mask)
    np.testing.assert_allclose(got, nn.MultiHeadAttention(config, weights)(x, mask=mask.dense()), atol=3e-6)
    with pytest.raises(OptionError, match="part of the BlockMask"):
        nn.SparseMultiHeadAttention(nn.TransformerConfig(dim=16, n_heads=4, causal=True), weights)


def test_masks_are_pickled_with_their_lists() -> None:
    q = draw(1, 2, 150, 8)
    mask = nn.BlockMask.of_heads(nn.BlockMask(150, [nn.SlidingWindow(9, d)]) for d in (1, 4))
    again = pickle.loads(pickle.dumps(mask))
    assert np.array_equal(nn.sparse_attention(q, q, q, again), nn.sparse_attention(q, q, q, mask))


def test_threads_change_no_bit() -> None:
    q = draw(1, 4, 1500, 16)
    mask, outs = nn.BlockMask(1500, [nn.SlidingWindow(100), nn.GlobalTokens((5,))]), []
    for n in (1, 3):
        with nn.threads(n):
            outs.append(nn.sparse_attention(q, q, q, mask))
    assert np.array_equal(*outs)


def test_what_does_not_fit_is_refused() -> None:
    q = draw(1, 2, 70, 8)
    with pytest.raises(ShapeError, match=r"\(heads, queries, keys\) \(1, 71, 71\)"):
        nn.sparse_attention(q, q, q, nn.BlockMask(71, [nn.SlidingWindow(3)]))
    with pytest.raises(TypeError, match=r"BlockMask\.of"):
        nn.sparse_attention(q, q, q, np.ones((70, 70), dtype=bool))
    with pytest.raises(ShapeError, match="it must be bool"):
        nn.BlockMask.of(np.ones((70, 70)))
    with pytest.raises(OptionError, match="needs at least one"):
        nn.BlockMask(70, [])
    with pytest.raises(OptionError, match="window is 0"):
        nn.SlidingWindow(0)
    with pytest.raises(ShapeError, match="of equal lengths"):
        nn.BlockMask.of_heads([nn.BlockMask(n, [nn.SlidingWindow(3)]) for n in (70, 71)])


def test_the_kernel_takes_no_list_on_trust() -> None:
    def lists(starts: object = ((0, 1, 2),), blocks: object = (0, 1), masks: object = (-1, 0)) -> BlockLists:
        made = (np.array(numbers, dtype=np.int32) for numbers in (blocks, masks))
        return BlockLists(np.array(starts, dtype=np.int64), *made, np.ones((1, BLOCK, BLOCK), dtype=np.uint8), 2)

    lists()
    for wrong in (
        {"starts": ((0, 1, 3),)}, {"starts": ((2, 1, 2),)}, {"starts": ((-1, 1, 2),)}, {"blocks": (0, 2)},
        {"blocks": (-1, 0)}, {"masks": (-2, 0)}, {"masks": (-1, 1)}, {"masks": (0,)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"must be from|one mask for each|must not decrease"):
            lists(**wrong)
    q = draw(1, 3, 200, 8)
    with pytest.raises(ValueError, match="lists has"):
        attend(q, q, q, q.copy(), 1.0, (0, FAR, FAR), lists=lists())
