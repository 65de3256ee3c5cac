"""One-hot, PMI, TF-IDF and truncated SVD, compared with the formulas and with numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tokkit._core.embed.cooccurrence import sparse_product
from tokkit._core.text import isas
from tokkit.embeddings import (
    SparseMatrix,
    TfIdf,
    count_cooccurrence,
    count_terms,
    lsa,
    one_hot,
    pmi,
    ppmi,
    truncated_svd,
)
from tokkit.errors import CorpusError, OptionError, ShapeError

SENTENCES = ["the king rules the land", "the queen rules the land", "a cat chases a mouse", "the cat sleeps"]


def sparse(dense: Any, names: tuple[str, ...] | None = None) -> SparseMatrix:
    made = np.asarray(dense)
    rows, columns = np.nonzero(made)
    indptr = np.searchsorted(rows, np.arange(made.shape[0] + 1))
    return SparseMatrix(made[rows, columns], columns.astype(np.int32), indptr, made.shape, names, names)


def drawn(rows: int, columns: int, share: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.standard_normal((rows, columns)) * (random.random((rows, columns)) < share)


def test_one_hot_rows_have_a_single_one() -> None:
    matrix = one_hot(np.array([2, 0, 2], np.uint32), 4)
    assert matrix.to_dense().tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert one_hot([], 4).shape == (0, 4)


@pytest.mark.parametrize(("ids", "size"), [([4], 4), ([-1], 4), ([0.5], 4), ([[1]], 4), ([0], 0)])
def test_ids_that_have_no_place_are_refused(ids: Any, size: int) -> None:
    with pytest.raises(OptionError, match=r"it must be|ids must be from 0 to 3"):
        one_hot(ids, size)


def test_a_dense_matrix_is_refused_above_the_stated_size() -> None:
    matrix = one_hot(range(50_000), 50_000)
    with pytest.raises(OptionError, match=r"50,000 × 50,000 numbers need 10,000,000,000 bytes, but max_bytes is 1,073"):
        matrix.to_dense()
    assert matrix.nnz == 50_000
    with pytest.raises(OptionError, match="max_bytes is 63"):
        one_hot(range(4), 4).to_dense(max_bytes=63)
    assert one_hot(range(4), 4).to_dense(max_bytes=64).trace() == 4


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("k", [1, 4, 15, 16, 33])
def test_products_are_those_of_dense_matrices(isa: str, k: int) -> None:
    dense = drawn(23, 17, 0.3, k).astype(np.float32)
    matrix = sparse(dense)
    for transposed in (False, True):
        factor = dense.T if transposed else dense
        x = drawn(factor.shape[1], k, 1, 1).astype(np.float32)
        y = np.ones((factor.shape[0], k), np.float32)
        sparse_product(matrix.indptr, matrix.indices, matrix.data, x, y, transposed=transposed, isa=isa)
        assert np.allclose(y, 1 + factor @ x, atol=1e-5)


def test_products_of_blocks_of_rows_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = drawn(40, 30, 0.2, 5)
    dense[7] = 0
    matrix, x = sparse(dense), drawn(30, 3, 1, 6)
    assert [rows.stop - rows.start for rows in matrix.row_blocks(1)] == [1] * 40
    monkeypatch.setattr(SparseMatrix.row_blocks, "__defaults__", (13,))
    assert np.allclose(matrix.times(x), dense @ x, atol=1e-5)
    assert np.allclose(matrix.times(dense @ x, transposed=True), dense.T @ (dense @ x), atol=1e-4)
    assert matrix.times(x).dtype == np.float32
    with pytest.raises(ShapeError, match="it must have 30 rows"):
        matrix.times(x[:29])


def test_the_core_refuses_products_that_do_not_fit() -> None:
    x, y = np.ones((2, 1), np.float32), np.ones((2, 1), np.float32)
    one = np.ones(1, np.float32)
    for starts, indices in [([0, 1], [0]), ([0, 1, 2], [0]), ([0, 1, 1], [2]), ([0, 1, 1], [-1]), ([0, 2, 1], [0])]:
        with pytest.raises(ValueError, match=r"x has shape|there are|must be from|must not decrease"):
            sparse_product(np.array(starts), np.array(indices, np.int32), one, x, y)


def test_pmi_is_its_formula_pair_by_pair() -> None:
    counts = count_cooccurrence(SENTENCES, window=2)
    dense, found = counts.to_dense(), pmi(counts)
    p = dense / dense.sum()
    for i, j in np.ndindex(dense.shape):
        expected = math.log(p[i, j] / (p[i].sum() * p[:, j].sum())) if dense[i, j] else 0
        assert found[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shift", [1.0, 5.0])
def test_ppmi_smooths_contexts_and_is_shifted(shift: float) -> None:
    counts = count_cooccurrence(SENTENCES, window=3)
    dense, found = counts.to_dense(), ppmi(counts, shift=shift)
    words, contexts = dense.sum(axis=1) / dense.sum(), dense.sum(axis=0) ** 0.75
    contexts /= contexts.sum()
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(dense / dense.sum() / np.outer(words, contexts)) - math.log(shift), 0)
    assert np.allclose(found.to_dense(), expected, atol=1e-12)
    assert found.nnz == np.count_nonzero(expected) < counts.nnz
    assert found.row_names == counts.row_names


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_counts_that_are_no_counts_are_refused(bad: float) -> None:
    with pytest.raises(OptionError, match=r"counts has (nan|inf|-1.0); counts must be finite, and not negative"):
        ppmi(sparse([[1.0, 2.0], [bad, 0]]))


def test_counts_that_are_all_zero_or_do_not_fit_are_refused() -> None:
    with pytest.raises(CorpusError, match="no count is above 0"):
        pmi(sparse(np.zeros((2, 2))))
    counts = sparse(np.ones((2, 2)))
    with pytest.raises(ShapeError, match="indices are from 0 to 1, but there are 1 columns"):
        pmi(SparseMatrix(counts.data, counts.indices, counts.indptr, (2, 1)))
    with pytest.raises(ShapeError, match="not those of a matrix with 3 rows"):
        pmi(SparseMatrix(counts.data, counts.indices, counts.indptr, (3, 2)))


def test_terms_are_counted_in_alphabetical_order() -> None:
    counts = count_terms(["to be or not to be", [], ["not", "here"]])
    assert counts.column_names == ("be", "here", "not", "or", "to")
    assert counts.to_dense().tolist() == [[2, 0, 1, 1, 2], [0] * 5, [0, 1, 1, 0, 0]]
    assert count_terms(["a b", "b"], min_df=2).column_names == ("b",)


def test_tfidf_is_its_formula() -> None:
    """Two documents, "the" in both: idf(the) = log(3/3) + 1, idf(cat) = log(3/2) + 1."""
    found = TfIdf(norm=None).fit_transform(["the the cat", "the dog"])
    assert found[0, "the"] == 2
    assert found[0, "cat"] == pytest.approx(1 + math.log(1.5), rel=1e-15)
    assert TfIdf(norm=None, smooth_idf=False).fit_transform(["the cat", "the dog"])[0, "cat"] == 1 + math.log(2)
    assert TfIdf(norm=None, sublinear_tf=True).fit_transform(["the the", "a"])[0, "the"] == (1 + math.log(2)) * (
        1 + math.log(1.5)
    )
    for norm, power in (("l2", 2), ("l1", 1)):
        lengths = (TfIdf(norm=norm).fit_transform([*SENTENCES, ""]).to_dense() ** power).sum(axis=1)
        assert lengths.tolist() == pytest.approx([1, 1, 1, 1, 0])


def test_weights_that_were_learnt_apply_to_other_documents() -> None:
    weights = TfIdf().fit(["the cat", "the dog"])
    other = weights.transform(["the unknown cat"])
    assert np.allclose(other.to_dense(), weights.transform(["the cat"]).to_dense())
    with pytest.raises(OptionError, match="call fit first"):
        TfIdf().transform(["a"])


@pytest.mark.parametrize("documents", ["one text", [b"bytes"], [[1, 2]], [None], [""], []])
def test_documents_that_are_none_are_refused(documents: Any) -> None:
    with pytest.raises((TypeError, OptionError, CorpusError), match=r"document|no term"):
        TfIdf().fit(documents)


def test_randomized_svd_finds_the_singular_values_of_numpy() -> None:
    dense = drawn(60, 8, 1, 1) @ drawn(8, 45, 1, 2) + drawn(60, 45, 0.1, 3) * 0.01
    u, s, vt = truncated_svd(sparse(dense), 8, iterations=7)
    true = np.linalg.svd(dense)
    assert np.allclose(s, true.S[:8], rtol=1e-4)
    assert np.allclose((u * s) @ vt, (true.U[:, :8] * true.S[:8]) @ true.Vh[:8], atol=1e-3)
    assert np.allclose(u.T @ u, np.eye(8), atol=1e-5)
    assert (u[np.abs(u).argmax(axis=0), np.arange(8)] > 0).all()
    again = truncated_svd(sparse(dense), 8, iterations=7)
    assert all((a == b).all() for a, b in zip((u, s, vt), again, strict=True))


def test_latent_vectors_of_words_that_share_contexts_are_near() -> None:
    counts = count_cooccurrence(SENTENCES * 2, window=2)
    vectors = lsa(ppmi(counts), 4, power=0.5)
    assert vectors.vector_size == 4
    assert vectors.similarity("king", "queen") > 0.99 > 0.5 > vectors.similarity("king", "mouse")


def test_terms_of_documents_have_latent_vectors_too() -> None:
    weights = TfIdf().fit_transform(SENTENCES)
    vectors = lsa(weights, 3, of="columns")
    _, s, vt = truncated_svd(weights, 3)
    assert np.allclose(vectors["cat"], vt[:, (weights.column_names or ()).index("cat")] * s)
    with pytest.raises(OptionError, match="the rows of this matrix have no names"):
        lsa(weights, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 4}, "k is 4; with randomized a matrix of 3 × 4 has at most 3 dimensions"),
        ({"k": 2, "method": "exact"}, "method is 'exact'; it must be one of randomized, arpack"),
        ({"k": 2, "iterations": -1}, "iterations is -1"),
        ({"k": 2, "seed": -1}, "seed is -1"),
    ],
)
def test_dimensions_that_a_matrix_does_not_have_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        truncated_svd(sparse(np.ones((3, 4))), **options)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_has_no_svd(bad: float) -> None:
    with pytest.raises(OptionError, match=f"the matrix has {bad}; all numbers must be finite"):
        truncated_svd(sparse(np.array([[1, 0, bad], [0, 2, 1.0]])), 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TfIdf(norm="l3"),
        lambda: ppmi(sparse(np.ones((2, 2))), shift=0),
        lambda: pmi(sparse(np.ones((2, 2))), smoothing=float("nan")),
        lambda: lsa(sparse(np.ones((2, 2))), 1, of="words"),
        lambda: lsa(sparse(np.ones((2, 2)), ("a", "b")), 0),
        lambda: count_terms(["a"], terms=["a", "a"]),
        lambda: sparse(np.ones((2, 2))).with_data(np.ones(3)),
    ],
)
def test_options_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises((OptionError, ShapeError), match=r"it must be|twice|3 numbers for 4 places"):
        make()
