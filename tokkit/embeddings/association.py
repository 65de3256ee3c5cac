"""PMI and PPMI of co-occurrence counts: how much more often two words occur together than by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import as_float
from tokkit.embeddings.sparse import SparseMatrix
from tokkit.errors import CorpusError, OptionError, ShapeError


def pmi(counts: SparseMatrix, *, smoothing: float = 1.0) -> SparseMatrix:
    """Return the PMI of each count, log(p(word, context) / (p(word) p(context))), with the natural logarithm.

    Rows are words, columns contexts. Pairs that never occur, whose PMI is −∞, are not stored. With `smoothing` below 1
    the counts of contexts are raised to that power, which lowers the PMI of rare contexts (Levy, Goldberg and Dagan
    2015 use 0.75). OptionError for counts that are negative or not finite.

    >>> from tokkit.embeddings import count_cooccurrence
    >>> counts = count_cooccurrence(["a b", "a b", "c d"], window=1)
    >>> round(pmi(counts)["c", "d"], 4)  # log(6): a sixth of the pairs, where chance gives one in 36
    1.7918
    """
    return counts.with_data(_pmi(counts, as_float("smoothing", smoothing, greater_than=0)))


def ppmi(counts: SparseMatrix, *, shift: float = 1.0, smoothing: float = 0.75) -> SparseMatrix:
    """Return max(PMI − log(shift), 0); only values above 0 are stored.

    word2vec with k negative samples factorizes PMI − log(k); `shift` is this k (Levy and Goldberg 2014).
    """
    data = _pmi(counts, as_float("smoothing", smoothing, greater_than=0))
    data -= np.log(as_float("shift", shift, greater_than=0))
    return counts.with_data(np.maximum(data, 0.0, out=data))


def check_counts(counts: SparseMatrix) -> None:
    """Check counts: ShapeError for inconsistent arrays, OptionError for a count that is NaN, infinite or negative.

    CorpusError if no count is above 0.
    """
    rows, columns = counts.shape
    starts, indices = counts.indptr, counts.indices
    fits = len(starts) == rows + 1 and starts[0] == 0 and starts[-1] == len(indices) == counts.nnz
    if not fits or (np.diff(starts) < 0).any():
        raise ShapeError(f"indptr, indices and data are not those of a matrix with {rows:,} rows")
    if len(indices) and not 0 <= indices.min() <= indices.max() < columns:
        raise ShapeError(f"indices are from {indices.min()} to {indices.max()}, but there are {columns:,} columns")
    for block in counts.row_blocks():
        data = counts.data[int(starts[block.start]) : int(starts[block.stop])]
        bad = np.flatnonzero(~(np.isfinite(data) & (data >= 0)))
        if len(bad):
            raise OptionError(f"counts has {float(data[bad[0]])!r}; counts must be finite, and not negative")
    if not counts.data.any():
        raise CorpusError("no count is above 0: give more text, or a larger window")


def _pmi(counts: SparseMatrix, smoothing: float) -> NDArray[np.float64]:
    check_counts(counts)
    made = np.empty(counts.nnz)
    with np.errstate(divide="ignore"):  # words that never occur have no entries
        words = np.log(counts.sum(axis=1))
        contexts = counts.sum(axis=0) ** smoothing
        contexts = np.log(contexts / contexts.sum())
        for rows in counts.row_blocks():
            part = slice(int(counts.indptr[rows.start]), int(counts.indptr[rows.stop]))
            lengths = np.diff(counts.indptr[rows.start : rows.stop + 1])
            made[part] = np.log(counts.data[part]) - np.repeat(words[rows], lengths) - contexts[counts.indices[part]]
    return made
