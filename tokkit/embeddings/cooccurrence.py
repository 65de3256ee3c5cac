"""Counts co-occurrences of words: the input matrix of PMI, LSA and GloVe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.cooccurrence import ContextRows, MergedRows
from tokkit.checks import as_int
from tokkit.embeddings.growing_arrays import GrowingArrays
from tokkit.embeddings.sparse import SparseMatrix
from tokkit.errors import CorpusError, OptionError

if TYPE_CHECKING:
    from tokkit.embeddings.training_ids import TrainingIds

Counts = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""(indptr, indices, data)"""
CONTEXTS = {"both": (1, 1), "before": (1, 0), "after": (0, 1)}
WORD_BYTES = 8
"""Bytes of the index of positions for each word of the text."""
MIN_CHUNK_WORDS = 1 << 12
MAX_CHUNK_WORDS = 1 << 31
BUFFER_ENTRIES = 1 << 18


def count_cooccurrence(
    corpus: TrainingIds | Iterable[Any],
    *,
    window: int = 5,
    contexts: str = "both",
    distance_weights: bool = True,
    min_count: int = 1,
    max_memory: int = 1 << 30,
    progress: Callable[[str, int, int], None] | None = None,
) -> SparseMatrix:
    """Count the words within `window` of each word: row "a", column "b" is how often b is near a.

    A context at distance k counts 1/k, or 1 with `distance_weights=False`. `contexts` is "both" (a symmetric matrix),
    "before" the word, or "after" it. Windows end with their sentence; words with fewer than `min_count` occurrences are
    removed before distances are measured. `corpus` is TrainingIds, or sentences (lists of words, or texts). About
    `max_memory` bytes are used: longer texts are counted in chunks, and larger results are stored in temporary files,
    which are removed with their arrays. Sums are in float64.

    OptionError for a window below 1; CorpusError if there are fewer than two words; OSError if the disk is full.

    >>> counts = count_cooccurrence(["the cat sat", "the cat ran"], window=2)
    >>> counts["the", "cat"], counts["the", "sat"], counts["sat", "ran"]
    (2.0, 0.5, 0.0)
    """
    from tokkit.embeddings.training_ids import TrainingIds

    window = as_int("window", window, minimum=1)
    max_memory = as_int("max_memory", max_memory, minimum=1)
    if contexts not in CONTEXTS:
        raise OptionError(f"contexts is {contexts!r}; it must be one of {', '.join(CONTEXTS)}")
    before, after = (window * side for side in CONTEXTS[contexts])
    weights = 1 / np.arange(1, window + 1, dtype=np.float64) if distance_weights else np.ones(window)
    with ExitStack() as stack:
        if not isinstance(corpus, TrainingIds):
            corpus = stack.enter_context(TrainingIds.of(corpus, min_count=min_count))
        words = corpus.vocabulary.words
        if len(words) < 2:
            raise CorpusError(f"the vocabulary has one word, {words[0]!r}; co-occurrence needs at least two")
        indptr, indices, data = count_ids(
            corpus.ids, corpus.ends, len(words), weights, before, after, max_memory=max_memory, progress=progress
        )
    return SparseMatrix(data, indices, indptr, (len(words), len(words)), words, words)


def count_ids(
    ids: NDArray[np.uint32],
    ends: NDArray[np.int64],
    n_words: int,
    weights: NDArray[np.float64],
    before: int,
    after: int,
    *,
    max_memory: int,
    progress: Callable[[str, int, int], None] | None = None,
) -> Counts:
    """Count the contexts of ids, whose sentences end at `ends`; a context at distance k counts weights[k - 1]."""
    if not len(ids):
        raise CorpusError("the sentences have no words of the vocabulary")
    show = progress or (lambda stage, done, total: None)
    half = max_memory // 2  # for the index of a chunk; the other half is for the results
    size = min(max(half // WORD_BYTES, MIN_CHUNK_WORDS), MAX_CHUNK_WORDS)

    def rows_of(first: int) -> ContextRows:
        last = min(first + size, len(ids))
        # The sentences of the first and the last word, as far as their windows reach.
        begin, end = np.searchsorted(ends, [first, last - 1], side="right").tolist()
        low = max(int(ends[begin - 1]) if begin else 0, first - before)
        high = min(int(ends[end]), last + after)
        within = np.minimum(ends[begin : end + 1], high) - low
        return ContextRows(n_words, ids[low:high], within, first - low, last - low, weights, before, after)

    if size >= len(ids):
        return _drain(rows_of(0), half)
    runs = []
    for first in range(0, len(ids), size):
        runs.append(_drain(rows_of(first), 0))
        show("count", min(first + size, len(ids)), len(ids))
    return _drain(MergedRows(n_words, runs), half)


def _drain(rows: ContextRows | MergedRows, max_bytes: int) -> Counts:
    """Return all rows of a matrix; if they exceed `max_bytes`, in temporary files."""
    room = max(rows.n_words, BUFFER_ENTRIES)
    indices, values = np.empty(room, np.int32), np.empty(room, np.float64)
    lengths = np.zeros(rows.n_words, np.int64)
    row = 0
    with GrowingArrays((np.int32, np.float64), max_bytes, "co-occurrence counts") as made:
        while row < rows.n_words:
            row, used = rows.fill(row, indices, values, lengths[row:])
            made.append(indices[:used], values[:used])
        taken = made.take()
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return indptr, taken[0], taken[1]
