"""Arrays of position vectors: which shapes and numbers are accepted, and which are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nn.stacks import draw
from tokkit import nn
from tokkit.errors import OptionError, ShapeError


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.uint64])
def test_a_number_of_numpy_is_a_number_of_positions(kind: type) -> None:
    table = nn.LearnedPositions(draw(9, 2))
    assert np.array_equal(table(kind(3)), table(3))
    assert np.array_equal(table(kind(3), start=kind(4)), table([4, 5, 6]))
    assert np.array_equal(nn.sinusoidal(kind(3), kind(4)), nn.sinusoidal(3, 4))
    assert nn.sinusoidal(kind(3), 4).shape == (3, 4)


def test_an_array_without_axes_is_one_position() -> None:
    table = nn.LearnedPositions(draw(9, 2))
    assert np.array_equal(table(np.array(3)), table.weight[3])
    assert np.array_equal(nn.sinusoidal(np.array(3), 4), nn.sinusoidal([3], 4)[0])
    assert table(0).shape == table([]).shape == (0, 2)
    assert nn.sinusoidal(0, 4).shape == nn.sinusoidal([], 4).shape == (0, 4)


@pytest.mark.parametrize(("dim", "base"), [(1, 10000.0), (6, 10000.0), (7, 50.0)])
def test_sinusoids_are_those_of_the_paper(dim: int, base: float) -> None:
    got = nn.sinusoidal([[0, 3], [1.5, 4000]], dim, base=base)
    for where, vector in zip((0, 3, 1.5, 4000), got.reshape(4, dim), strict=True):
        angles = [where / math.pow(base, 2 * (column // 2) / dim) for column in range(dim)]
        expected = [math.cos(angle) if column % 2 else math.sin(angle) for column, angle in enumerate(angles)]
        np.testing.assert_allclose(vector, expected, atol=1e-6)


@pytest.mark.parametrize("bad", [True, np.True_, -1, np.int64(-2)])
def test_numbers_that_count_nothing_are_refused(bad: object) -> None:
    table = nn.LearnedPositions(draw(9, 2))
    for call in (
        lambda: table(bad),
        lambda: table(2, start=bad),
        lambda: nn.sinusoidal(bad, 4),
        lambda: nn.sinusoidal(3, bad),
    ):
        with pytest.raises(OptionError, match=r"is .*must be a whole number of at least [01]"):
            call()
    with pytest.raises(TypeError, match="dtype bool; it must be numbers"):
        nn.sinusoidal([True, False], 4)
    with pytest.raises(OptionError, match=r"base is .*must be a finite number above 0"):
        nn.sinusoidal(3, 4, base=0)


def test_a_learned_table_says_what_is_wrong_with_a_position() -> None:
    table = nn.LearnedPositions({"weight": draw(6, 2)})
    with pytest.raises(IndexError, match=r"position -1 .* 6 positions; positions begin at 0"):
        table([0, -1])
    with pytest.raises(IndexError, match=r"position 8 .* 6 positions; shorten the sequence to 6"):
        table([0, 8])
    with pytest.raises(ShapeError, match=r"no 'weight', which would have shape \(positions, dim\)"):
        nn.LearnedPositions({})
    with pytest.raises(ShapeError, match=r"\(6,\); it must be \(positions, dim\)"):
        nn.LearnedPositions(draw(6))


@pytest.mark.parametrize("shape", [(5, 4), (1, 5, 4), (3, 5, 4), (1, 1, 5, 4), (2, 1, 5, 4)])
def test_positions_are_added_to_or_stand_behind_every_token(shape: tuple[int, ...]) -> None:
    x, pe = draw(2, 3, 5, 4), draw(*shape, seed=1)
    wide = np.broadcast_to(pe, x.shape)
    assert np.array_equal(nn.with_positions(x, pe), x + wide)
    got = nn.with_positions(x, pe[..., :3], how="concatenate")
    assert np.array_equal(got[..., :4], x)
    assert np.array_equal(got[..., 4:], wide[..., :3])


@pytest.mark.parametrize("how", ["add", "concatenate"])
@pytest.mark.parametrize(
    ("x", "positions"), [((2, 5, 4), (3, 5, 4)), ((5, 4), (3, 5, 4)), ((1, 5, 4), (2, 5, 4)), ((5, 4), (1, 5, 4))]
)
def test_positions_that_would_change_the_shape_are_refused(
    how: str, x: tuple[int, ...], positions: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError, match="the first axes of positions must be those of x") as error:
        nn.with_positions(draw(*x), draw(*positions), how=how)
    assert str(x) in str(error.value)
    assert str(positions) in str(error.value)
