"""Exact search finds the rows of the naive twin, for every instruction set, any threads, ties and tiny gaps."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from reference import search as twin
from tokkit._core.nn.rows import dots
from tokkit._core.text import isas
from tokkit.errors import OptionError, ShapeError
from tokkit.search import exact
from tokkit.search.exact import largest_norm, top_k

pytestmark = pytest.mark.threads


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((*shape, seed)).standard_normal(shape).astype(np.float32)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("m", [1, 3, 8, 15, 16, 17, 384, 387])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 1001])
def test_products_are_those_of_float64(isa: str, m: int, n: int) -> None:
    rows, queries = draw(n, m), draw(3, m, seed=1)
    scores = np.full((3, n), np.nan, dtype=np.float32)
    dots(rows, queries, scores, isa=isa, threads=2)
    np.testing.assert_allclose(scores, twin.dots(rows, queries), atol=1e-6 * m + 1e-6)


@pytest.mark.parametrize("isa", isas())
def test_a_score_depends_on_its_row_alone(isa: str) -> None:
    row, query = draw(1, 387), draw(1, 387, seed=1)
    rows = np.repeat(row, 3000, axis=0)
    for threads, n in itertools.product((1, 3), (1, 2, 7, 3000)):
        scores = np.empty((1, n), dtype=np.float32)
        dots(rows[:n], query, scores, isa=isa, threads=threads)
        assert len(set(scores[0].tolist())) == 1
    first = np.empty((1, 1), dtype=np.float32)
    dots(row, query, first, isa=isa)
    assert first[0, 0] == scores[0, 0]


def test_rows_may_lie_apart_and_none_is_read_beyond() -> None:
    wide = np.full((50, 24), np.nan, dtype=np.float32)
    wide[::2, :17] = draw(25, 17)
    rows, queries = wide[::2, :17], draw(2, 17, seed=1)
    scores = np.empty((2, 25), dtype=np.float32)
    dots(rows, queries, scores)
    np.testing.assert_allclose(scores, twin.dots(rows, queries), atol=1e-5)
    for wrong in (np.empty((2, 24), np.float32), np.empty((1, 25), np.float32)):
        with pytest.raises(ValueError, match="they must be"):
            dots(rows, queries, wrong)
    with pytest.raises(ValueError, match="must be contiguous"):
        dots(wide.T[:17], np.ones((1, 50), np.float32), np.empty((1, 17), np.float32))


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 1000, 5000])
@pytest.mark.parametrize("k", [1, 2, 5, 60, 6000])
def test_rows_and_scores_are_the_twins(n: int, k: int) -> None:
    vectors, queries = unit(draw(n, 24)), draw(3, 24, seed=1)
    found = top_k(vectors, queries, k)
    for i, query in enumerate(queries):
        expected = twin.top_k(vectors, query, k)
        assert list(zip(found.rows[i].tolist(), found.scores[i].tolist(), strict=True)) == expected


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_equal_rows_come_in_their_order_and_nearly_equal_ones_by_float64(threads: int) -> None:
    rng = np.random.default_rng(3)
    some = unit(draw(7, 96))
    vectors = some[rng.integers(0, 7, 4000)]
    # Rows that differ in the last bit of one column: float32 products cannot tell them apart, float64 ones can.
    touched = rng.integers(0, 4000, 900)
    columns = rng.integers(0, 96, 900)
    vectors[touched, columns] = np.nextafter(vectors[touched, columns], np.float32(2))
    for query in [*some, *draw(3, 96, seed=2)]:
        found = top_k(vectors, query[None], 700, threads=threads)
        expected = twin.top_k(vectors, query, 700)
        assert list(zip(found.rows[0].tolist(), found.scores[0].tolist(), strict=True)) == expected


def test_all_rows_alike_are_the_first_k() -> None:
    vectors = np.repeat(unit(draw(1, 33)), 9000, axis=0)
    assert top_k(vectors, vectors[:1], 9).rows.tolist() == [list(range(9))]
    assert top_k(vectors * 0, vectors[:1], 9).rows.tolist() == [list(range(9))]


@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1e19, 3e37])
def test_lengths_at_the_ends_of_float32_change_nothing(scale: float) -> None:
    vectors, queries = draw(500, 40) * np.float32(scale), draw(2, 40, seed=1) * np.float32(scale)
    found = top_k(vectors, queries, 20)
    for i, query in enumerate(queries):
        assert found.rows[i].tolist() == [row for row, _ in twin.top_k(vectors, query, 20)]


def test_vectors_that_are_not_finite_come_last() -> None:
    vectors = unit(draw(3000, 8))
    vectors[[1, 700]] = np.nan
    query = unit(draw(1, 8, seed=1))
    found = top_k(vectors, query, 3000, norm=1.0)
    assert sorted(found.rows[0, -2:].tolist()) == [1, 700]
    for k in (10, 23, 24, 2999):  # of 3,000 rows there are 23 blocks, of which NaN tops two
        found = top_k(vectors, query, k)
        finite = np.delete(vectors, [1, 700], axis=0)
        expected = np.delete(np.arange(3000), [1, 700])[top_k(finite, query, k).rows[0]]
        assert found.rows[0, : len(expected)].tolist() == expected.tolist()
    assert largest_norm(vectors) == largest_norm(finite)


def test_many_queries_are_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokkit.search import exact

    vectors, queries = unit(draw(700, 16)), unit(draw(37, 16, seed=1))
    together = top_k(vectors, queries, 3)
    monkeypatch.setattr(exact, "SCORES", 700 * 4)
    for i, query in enumerate(queries):
        alone = top_k(vectors, query[None], 3)
        assert np.array_equal(alone.rows[0], together.rows[i])
        assert np.array_equal(alone.scores[0], together.scores[i])
    in_groups = top_k(vectors, queries, 3)
    assert np.array_equal(in_groups.rows, together.rows)


def test_read_only_and_other_layouts_are_read() -> None:
    vectors, query = unit(draw(50, 8)), draw(1, 8, seed=1)
    frozen = vectors.copy()
    frozen.flags.writeable = False
    expected = top_k(vectors, query, 5).rows.tolist()
    assert top_k(frozen, query, 5).rows.tolist() == expected
    assert top_k(np.asfortranarray(vectors), query.tolist(), 5).rows.tolist() == expected
    assert top_k(np.repeat(vectors, 2, axis=0)[::2], query, 5).rows.tolist() == expected


def test_nothing_is_found_in_nothing() -> None:
    empty = np.empty((0, 8), dtype=np.float32)
    assert top_k(empty, draw(2, 8), 5).rows.shape == (2, 0)
    assert top_k(unit(draw(4, 8)), empty, 5).rows.shape == (0, 4)
    assert largest_norm(empty) == 0


def test_what_cannot_be_searched_is_refused() -> None:
    vectors = unit(draw(10, 8))
    for k in (0, -1, True, 1.5, None):
        with pytest.raises(OptionError, match="k is"):
            top_k(vectors, vectors, k)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"\(10, 8\) and queries \(1, 9\)"):
        top_k(vectors, draw(1, 9), 1)
    with pytest.raises(ShapeError, match=r"queries \(8,\)"):
        top_k(vectors, vectors[0], 1)
    with pytest.raises(TypeError, match="float64; they must be float32"):
        top_k(vectors.astype(np.float64), vectors, 1)  # type: ignore[arg-type]
    for bad in (np.nan, np.inf):
        with pytest.raises(OptionError, match="NaN or infinity"):
            top_k(vectors, [[bad] * 8], 1)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("n", [1, 127, 5000])
def test_with_lengths_rows_are_found_by_their_cosines(isa: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "dots", functools.partial(dots, isa=isa))
    rng = np.random.default_rng(n)
    vectors = draw(n, 24) * (10.0 ** rng.uniform(-25, 18, (n, 1))).astype(np.float32)
    vectors[rng.integers(0, n, n // 10)] = 0
    wide = vectors.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1)
    query = unit(draw(1, 24, seed=1))
    found = top_k(vectors, query, 7, lengths=norms.astype(np.float32))
    with np.errstate(invalid="ignore"):
        cosines = (wide * query[0].astype(np.float64)).sum(axis=1) / norms
    order = np.argsort(-cosines, kind="stable")[:7]  # NaN, of rows of length 0, is last
    assert found.rows[0].tolist() == order.tolist()
    np.testing.assert_allclose(found.scores[0], cosines[order], rtol=1e-12)
    with pytest.raises(ShapeError, match="lengths"):
        top_k(vectors, query, 7, lengths=np.ones(n + 1, dtype=np.float32))
