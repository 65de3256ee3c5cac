"""Counts, TF-IDF and SVD are those of scipy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from extras import extra
from tokkit.embeddings import TfIdf, count_cooccurrence, count_terms, lsa, ppmi, truncated_svd

extra("scipy")
text = extra("sklearn.feature_extraction.text")

DOCUMENTS = ["the cat sat on the mat", "the dog sat", "a cat and a dog", "", "mats and cats and dogs and a cat"]
OTHERS = ["the the unknown cat", "dogs"]


def test_arrays_become_a_matrix_of_scipy_without_a_copy() -> None:
    counts = count_cooccurrence(DOCUMENTS, window=2)
    made = counts.to_scipy()
    assert made.shape == counts.shape
    assert (made.toarray() == counts.to_dense()).all()
    assert np.shares_memory(made.data, counts.data)
    assert made.has_sorted_indices


@pytest.mark.parametrize("norm", ["l2", "l1", None])
@pytest.mark.parametrize("sublinear_tf", [False, True])
@pytest.mark.parametrize("smooth_idf", [False, True])
def test_tfidf_is_that_of_scikit_learn(smooth_idf: bool, sublinear_tf: bool, norm: str | None) -> None:
    theirs = text.TfidfVectorizer(
        tokenizer=str.split,
        token_pattern=None,
        lowercase=False,
        smooth_idf=smooth_idf,
        sublinear_tf=sublinear_tf,
        norm=norm,
    )
    ours = TfIdf(smooth_idf=smooth_idf, sublinear_tf=sublinear_tf, norm=norm)
    expected = theirs.fit_transform(DOCUMENTS)
    found = ours.fit_transform(DOCUMENTS)
    assert list(ours.terms) == theirs.get_feature_names_out().tolist()
    assert np.allclose(ours.idf, theirs.idf_, rtol=1e-15, atol=0)
    assert np.allclose(found.to_dense(), expected.toarray(), rtol=1e-14, atol=0)
    assert np.allclose(ours.transform(OTHERS).to_dense(), theirs.transform(OTHERS).toarray(), rtol=1e-14, atol=0)


def test_counts_of_terms_are_those_of_scikit_learn() -> None:
    theirs = text.CountVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False, min_df=2)
    assert (theirs.fit_transform(DOCUMENTS).toarray() == count_terms(DOCUMENTS, min_df=2).to_dense()).all()


def test_both_methods_find_the_same_dimensions() -> None:
    counts = ppmi(count_cooccurrence(DOCUMENTS * 2, window=2))
    exact, found = truncated_svd(counts, 3, method="arpack"), truncated_svd(counts, 3, iterations=8)
    assert np.allclose(exact.s, found.s, rtol=1e-4)
    assert np.allclose(np.abs((exact.u * found.u).sum(axis=0)), 1, atol=1e-3)
    assert len(lsa(counts, 3, method="arpack")) == counts.shape[0]
