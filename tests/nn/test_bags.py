"""Means of bags of rows equal the naive twin's for every instruction set, width, and option."""

from __future__ import annotations

import numpy as np
import pytest

from reference import bags as twin
from tokkit._core.nn.rows import bags
from tokkit._core.text import isas

pytestmark = pytest.mark.threads

LENGTHS = [0, 1, 2, 5, 6, 7, 40, 0, 300, 3]


def draw(m: int, *, rows: int = 50, lengths: list[int] = LENGTHS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m)
    starts = np.append(0, np.cumsum(lengths)).astype(np.int64)
    ids = rng.integers(0, rows, starts[-1], dtype=np.uint32)
    return rng.standard_normal((rows, m)).astype(np.float32), ids, starts


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("m", [1, 3, 4, 15, 16, 17, 64, 128, 131, 256, 300])
@pytest.mark.parametrize("normalize", [False, True])
def test_means_are_the_twins(isa: str, m: int, normalize: bool) -> None:
    table, ids, starts = draw(m)
    rng = np.random.default_rng(1)
    row_of, weights = rng.integers(0, 50, 50, dtype=np.uint32), rng.random(50, dtype=np.float32)
    for options in (
        {}, {"ignored": 7}, {"max_ids": 6}, {"row_of": row_of}, {"weights": weights},
        {"row_of": row_of, "weights": weights, "ignored": 3, "max_ids": 100},
    ):  # fmt: skip
        out = np.full((len(LENGTHS), m), np.nan, dtype=np.float32)
        bags(table, ids, starts, out, normalize=normalize, isa=isa, **options)
        expected = twin.bags(table, ids, starts, normalize=normalize, **options)
        np.testing.assert_allclose(out, expected, atol=2e-6, err_msg=str(options))


@pytest.mark.parametrize("isa", isas())
def test_a_bag_depends_neither_on_its_neighbours_nor_on_threads(isa: str) -> None:
    table, ids, starts = draw(37, lengths=[n % 23 for n in range(1000)])
    alone, several = np.empty((2, 1000, 37), dtype=np.float32)
    bags(table, ids, starts, several, threads=3, isa=isa)
    for i in range(1000):
        bags(table, ids, starts[i : i + 2], alone[i : i + 1], isa=isa)
    assert np.array_equal(alone, several)


def test_only_the_columns_asked_for_are_read() -> None:
    table, ids, starts = draw(40)
    table[:, 17:] = np.nan
    out = np.empty((len(LENGTHS), 17), dtype=np.float32)
    bags(table[:, :17], ids, starts, out)
    np.testing.assert_allclose(out, twin.bags(table[:, :17], ids, starts), atol=2e-6)


def test_what_does_not_fit_is_refused() -> None:
    table, ids, starts = draw(16)
    out = np.empty((len(LENGTHS), 16), dtype=np.float32)
    few = np.zeros(49, dtype=np.uint32)
    for wrong in (
        lambda: bags(table, ids, starts[1:], out), lambda: bags(table[:, 1:], ids, starts, out),
        lambda: bags(table, ids, starts[::-1].copy(), out), lambda: bags(table, ids, starts - 1, out),
        lambda: bags(table, ids, starts + 1, out), lambda: bags(table[:5], ids, starts, out),
        lambda: bags(table.T, ids, starts, np.empty((len(LENGTHS), 50), np.float32)),
        lambda: bags(table, ids, starts, out, row_of=few), lambda: bags(table, ids, starts, out, row_of=few + 50),
        lambda: bags(table, ids, starts, out, weights=np.ones(49, np.float32)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"out has|contiguous|table|row_of|weights|starts"):
            wrong()
