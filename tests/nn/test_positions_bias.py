"""ALiBi's slopes and T5's buckets, compared with the papers' rules in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from extras import extra
from tokkit import nn
from tokkit.errors import OptionError, ShapeError

DISTANCES = np.arange(-1500, 1501)
BUCKETS = [(32, 128), (16, 64), (64, 512), (32, 200), (8, 20)]


def slopes(n_heads: int) -> list[float]:
    """The paper's rule: a geometric sequence from 2^(-8/n) on for n a power of two; others borrow from two of these."""
    if math.log2(n_heads).is_integer():
        first = 2.0 ** (-8.0 / n_heads)
        return [first ** (head + 1) for head in range(n_heads)]
    lower = 2 ** math.floor(math.log2(n_heads))
    return slopes(lower) + slopes(2 * lower)[0::2][: n_heads - lower]


def bucket(distance: int, n_buckets: int, most: int, *, both: bool) -> int:
    """T5's rule for a distance key - query: half of a side's buckets hold one distance, the others grow to `most`."""
    side = n_buckets // 2 if both else n_buckets
    first = side if both and distance > 0 else 0
    far = abs(distance) if both else max(-distance, 0)
    exact = side // 2
    if far < exact:
        return first + far
    # A distance at the very edge belongs to the farther bucket; the logarithms of float64 may miss it by a bit.
    grown = math.log(far / exact) / math.log(most / exact) * (side - exact)
    return first + min(exact + math.floor(grown + 1e-9), side - 1)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 5, 6, 7, 8, 12, 20, 24, 33, 71, 112])
def test_slopes_follow_the_rule_for_any_number_of_heads(n_heads: int) -> None:
    np.testing.assert_allclose(nn.alibi_slopes(n_heads), slopes(n_heads), rtol=1e-6)
    assert np.array_equal(nn.alibi_slopes(np.int32(n_heads)), nn.alibi_slopes(n_heads))


@pytest.mark.parametrize(("n_queries", "n_keys", "offset"), [(4, 6, 2), (1, 9, 8), (5, 5, 0), (3, 0, 0)])
def test_a_bias_by_distance_is_the_slope_times_the_distance(n_queries: int, n_keys: int, offset: int) -> None:
    bias = nn.alibi(6, np.int64(n_queries), np.int64(n_keys), offset=np.int64(offset))
    for h, slope in enumerate(slopes(6)):
        for i in range(n_queries):
            for j in range(n_keys):
                assert bias.table[h, bias.zero + i - j] == pytest.approx(-slope * abs(i + offset - j), rel=1e-6)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("n_buckets", "most"), BUCKETS)
def test_buckets_are_those_of_the_rule_at_every_distance(n_buckets: int, most: int, both: bool) -> None:
    got = nn.relative_buckets(DISTANCES, n_buckets=n_buckets, max_distance=most, bidirectional=both)
    assert got.tolist() == [bucket(int(d), n_buckets, most, both=both) for d in DISTANCES]


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("n_buckets", "most"), BUCKETS)
def test_buckets_are_those_of_transformers_at_every_distance(n_buckets: int, most: int, both: bool) -> None:
    torch = extra("torch")
    t5 = extra("transformers.models.t5.modeling_t5")
    theirs = t5.T5Attention._relative_position_bucket(
        torch.from_numpy(DISTANCES), bidirectional=both, num_buckets=n_buckets, max_distance=most
    )
    got = nn.relative_buckets(DISTANCES, n_buckets=n_buckets, max_distance=most, bidirectional=both)
    assert np.array_equal(got, theirs.numpy())


@pytest.mark.parametrize("both", [True, False])
def test_each_head_gets_its_own_column_of_a_learned_bias(both: bool) -> None:
    table = np.random.default_rng(1).standard_normal((16, 3), dtype=np.float32)
    options = {"n_buckets": 16, "max_distance": 40, "bidirectional": both}
    bias = nn.RelativeBias({"weight": table}, n_heads=3, **options)(4, 60, offset=50)
    for i in range(4):
        for j in range(60):
            expected = table[bucket(j - (50 + i), 16, 40, both=both)]
            assert np.array_equal(bias.table[:, bias.zero + i - j], expected)


def test_biases_refuse_numbers_that_cannot_be() -> None:
    for bad in (0, -2, True, 2.0, np.int64(0)):
        with pytest.raises(OptionError, match=r"n_heads is .*must be a whole number of at least 1"):
            nn.alibi_slopes(bad)
    for bad in ((-1, 3), (3, -1), (True, 3), (3, 2.0)):
        with pytest.raises(OptionError, match=r"is .*must be a whole number of at least 0"):
            nn.alibi(2, *bad)
        with pytest.raises(OptionError, match=r"is .*must be a whole number of at least 0"):
            nn.RelativeBias({"weight": np.zeros((32, 2))}, n_heads=2)(*bad)
    for bad in ({"n_buckets": -4}, {"n_buckets": 8.0}, {"max_distance": True}):
        with pytest.raises(OptionError, match=r"is .*must be a whole number of at least 1"):
            nn.relative_buckets([1, 2], **bad)
        with pytest.raises(OptionError, match=r"is .*must be a whole number of at least 1"):
            nn.RelativeBias({"weight": np.zeros((32, 2))}, n_heads=2, **bad)
    with pytest.raises(OptionError, match="too few for max_distance"):
        nn.relative_buckets([1, 2], n_buckets=32, max_distance=8)
    with pytest.raises(ShapeError, match=r"\(32, 3\).*\(32, 2\)"):
        nn.RelativeBias({"weight": np.zeros((32, 3))}, n_heads=2)
    with pytest.raises(TypeError, match="must have integers"):
        nn.relative_buckets([1.5])
