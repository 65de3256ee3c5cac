"""Documents as weighted counts of their terms: TF-IDF as scikit-learn computes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import as_int, ordered
from tokkit.embeddings.sparse import SparseMatrix
from tokkit.errors import CorpusError, OptionError

NORMS = ("l2", "l1", None)


def count_terms(
    documents: Iterable[str | Sequence[str]], *, terms: Sequence[str] | None = None, min_df: int = 1
) -> SparseMatrix:
    """Count the terms of each document: one row per document, one column per term, in alphabetical order.

    A document is a list of terms, or a text that is split at white space. With `terms` only these are counted, in the
    given order; without, all terms in at least `min_df` documents. CorpusError if no term is left.

    >>> count_terms(["to be or not to be"]).column_names, count_terms(["to be or not to be"]).to_dense().tolist()
    (('be', 'not', 'or', 'to'), [[2.0, 1.0, 1.0, 2.0]])
    """
    counted = [_counted(document, i) for i, document in enumerate(ordered(documents, "documents", "documents"), 1)]
    if terms is None:
        found = Counter(chain.from_iterable(counted))
        terms = sorted(term for term, n in found.items() if n >= as_int("min_df", min_df, minimum=1))
        if not terms:
            raise CorpusError(f"no term is in at least {min_df} documents ({len(counted):,} documents are given)")
    columns = {term: i for i, term in enumerate(terms)}
    if len(columns) != len(terms):
        raise OptionError("a term is given twice")
    return _rows(counted, columns)


class TfIdf:
    """TF-IDF weights of terms: `fit` learns the document frequencies, `transform` applies them.

    The weight of a term is tf · idf, idf = log((1 + n) / (1 + df)) + 1 for n documents, df of them with the term, or
    log(n / df) + 1 with `smooth_idf=False`. With `sublinear_tf` tf is 1 + log(count). Then rows are scaled to length 1
    in the `norm` "l2" or "l1"; None leaves them. Numbers are those of scikit-learn's TfidfTransformer.

    >>> weights = TfIdf(norm=None).fit_transform(["the cat", "the dog"])
    >>> weights[0, "the"], round(weights[0, "cat"], 4)  # 1 + log(3 / 2)
    (1.0, 1.4055)
    """

    def __init__(
        self, *, smooth_idf: bool = True, sublinear_tf: bool = False, norm: str | None = "l2", min_df: int = 1
    ) -> None:
        if norm not in NORMS:
            raise OptionError(f"norm is {norm!r}; it must be l2, l1 or None")
        self.smooth_idf, self.sublinear_tf, self.norm = smooth_idf, sublinear_tf, norm
        self.min_df = as_int("min_df", min_df, minimum=1)
        self.terms: tuple[str, ...] = ()
        self.idf: NDArray[np.float64] = np.empty(0)

    def fit(self, documents: Iterable[str | Sequence[str]]) -> TfIdf:
        """Learn the terms and their document frequencies; return this object."""
        self.fit_transform(documents)
        return self

    def fit_transform(self, documents: Iterable[str | Sequence[str]]) -> SparseMatrix:
        """Learn from documents, and return their weights (documents, terms)."""
        counts = count_terms(documents, min_df=self.min_df)
        n, df = counts.shape[0], np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)
        self.terms = counts.column_names or ()
        self.idf = np.log((n + self.smooth_idf) / (df + self.smooth_idf)) + 1
        return self._weighted(counts)

    def transform(self, documents: Iterable[str | Sequence[str]]) -> SparseMatrix:
        """Return the weights of other documents; unknown terms are left out. OptionError before `fit`."""
        if not self.terms:
            raise OptionError("this TfIdf has no terms; call fit first")
        return self._weighted(count_terms(documents, terms=self.terms))

    def _weighted(self, counts: SparseMatrix) -> SparseMatrix:
        data = counts.data
        if self.sublinear_tf:
            data = np.log(data) + 1
        data = data * self.idf[counts.indices]
        if self.norm is not None:
            rows, size = counts.row_numbers(), counts.shape[0]
            lengths = np.bincount(rows, data * data if self.norm == "l2" else np.abs(data), size)
            data = data / (np.sqrt(lengths) if self.norm == "l2" else lengths)[rows]
        return replace(counts, data=data)


def _counted(document: str | Sequence[str], number: int) -> Counter[str]:
    if isinstance(document, str):
        return Counter(document.split())
    if isinstance(document, (bytes, bytearray)) or not isinstance(document, Iterable):
        raise CorpusError(f"document {number:,} is {type(document).__name__}; it must be a text or a list of terms")
    counted = Counter(document)
    if not all(isinstance(term, str) for term in counted):
        raise CorpusError(f"document {number:,} has a term that is not a str; it must be a text or a list of terms")
    return counted


def _rows(counted: list[Counter[str]], columns: Mapping[str, int]) -> SparseMatrix:
    indptr = np.zeros(len(counted) + 1, dtype=np.int64)
    indices, data = [], []
    for i, counts in enumerate(counted):
        known = sorted((columns[term], n) for term, n in counts.items() if term in columns)
        indptr[i + 1] = indptr[i] + len(known)
        indices += [column for column, _ in known]
        data += [n for _, n in known]
    shape = (len(counted), len(columns))
    made = np.array(indices, dtype=np.int32), indptr, shape, None, tuple(columns)
    return SparseMatrix(np.array(data, dtype=np.float64), *made)
