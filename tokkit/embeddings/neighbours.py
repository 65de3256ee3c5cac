"""The nearest keys of keys or vectors: exact, with the search kernels, and without a normalized copy of the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit import lazy
from tokkit.embeddings.keys import KEY_TYPES, Key
from tokkit.embeddings.similarities import Similarities
from tokkit.errors import OptionError

Item = Key | NDArray[Any] | tuple[Key | NDArray[Any], float]
Items = Item | Sequence[Item] | None
TINY = 1e-6
"""Added to a denominator to avoid 0: Levy and Goldberg, Linguistic Regularities in Sparse and Explicit Word
Representations (2014), equation 4.
"""


def listed(value: Items) -> list[Any]:
    """Return keys or vectors as a list: a single one as a list of one, None as an empty list."""
    if value is None:
        return []
    if isinstance(value, KEY_TYPES) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [value]
    return list(value)


class Nearest(list[tuple[Key, float]]):
    """A list of keys and their similarities, the nearest first, which a notebook displays as a table."""

    __slots__ = ()
    _repr_html_ = lazy.notebook_html


class Neighbours(Similarities):
    """Nearest-neighbour queries over all keys, or over a range of them."""

    def most_similar(
        self,
        positive: Items = None,
        negative: Items = None,
        topn: int | None = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        indexer: None = None,
    ) -> Any:
        """Return the `topn` keys nearest to the mean of vectors, as (key, cosine), the nearest first.

        The mean is over keys or vectors scaled to length 1, `positive` ones with weight 1 and `negative` ones with −1,
        or the weight in (key, weight). The keys of the query are left out. Only rows from `clip_start` to `clip_end`
        are searched, or the first `restrict_vocab`. The result is exact: cosines are compared in float64, and of equal
        ones the lower row comes first. `topn=None` returns an array of the cosines of all rows. KeyError for an unknown
        key.

        >>> from tokkit.embeddings import KeyedVectors
        >>> vectors = np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32)
        >>> [key for key, _ in KeyedVectors.of(["cat", "dog", "car"], vectors).most_similar("cat", topn=1)]
        ['dog']
        """
        if isinstance(topn, (int, np.integer)) and topn < 1:
            return Nearest()
        if indexer is not None:
            raise OptionError(
                "indexer is not supported: the search is exact; tokkit.search.Index has a graph for approximate search"
            )
        if restrict_vocab:
            clip_start, clip_end = 0, restrict_vocab
        start, end, _ = slice(clip_start, clip_end or len(self.vectors)).indices(len(self.vectors))
        query, known = self._question(positive, negative)
        if topn is None:
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.dot(self.vectors[start:end], query) / self._lengths()[start:end]
        rows, cosines = self._nearest(query[np.newaxis], start, end, int(topn) + len(known))
        found = zip(rows[0].tolist(), cosines[0].tolist(), strict=True)
        return Nearest([(self._key(row), cosine) for row, cosine in found if row not in known][:topn])

    def _question(self, positive: Items, negative: Items) -> tuple[NDArray[np.float32], list[int]]:
        """Return the query vector, of length 1, and the rows of the keys in it."""
        keys, weights = [], []
        for items, sign in ((listed(positive), 1.0), (listed(negative), -1.0)):
            for item in items:
                alone = isinstance(item, (*KEY_TYPES, np.ndarray))
                keys.append(item if alone else item[0])
                weights.append(sign if alone else item[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.get_mean_vector(keys, np.array(weights), post_normalize=True, ignore_missing=False)
        if not np.isfinite(mean).all():
            shown = ", ".join("a vector" if isinstance(key, np.ndarray) else repr(key) for key in keys)
            raise OptionError(
                f"the query ({shown}) has NaN or infinity, or a key whose vector is 0: it has no direction"
            )
        known = [self.get_index(key) for key in keys if isinstance(key, KEY_TYPES) and self.has_index_for(key)]
        return mean, known

    def _nearest(
        self, queries: NDArray[np.float32], start: int, end: int, k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows and cosines (q, k) of the k rows nearest to each of `queries` (q, d), of length 1."""
        # Imported here, because tokkit.search is slow to import and not needed for similarities.
        from tokkit.search.exact import top_k

        if start >= end:
            return np.empty((len(queries), 0), dtype=np.int64), np.empty((len(queries), 0))
        vectors = self.vectors[start:end].astype(np.float32, copy=False)
        lengths = self._lengths()[start:end].astype(np.float32, copy=False)
        found = top_k(vectors, queries, k, lengths=lengths)
        return found.rows + start, found.scores

    def similar_by_key(self, key: Key, topn: int | None = 10, restrict_vocab: int | None = None) -> Any:
        """Return the `topn` keys nearest to a key: `most_similar` with only this key."""
        return self.most_similar(positive=[key], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_word(self, word: Key, topn: int | None = 10, restrict_vocab: int | None = None) -> Any:
        """Return `similar_by_key`."""
        return self.similar_by_key(word, topn, restrict_vocab)

    def similar_by_vector(self, vector: NDArray[Any], topn: int | None = 10, restrict_vocab: int | None = None) -> Any:
        """Return the `topn` keys nearest to a vector (d,)."""
        return self.most_similar(positive=[vector], topn=topn, restrict_vocab=restrict_vocab)

    def most_similar_cosmul(
        self,
        positive: Items = None,
        negative: Items = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Any:
        """Return the `topn` keys by the product of cosines (3CosMul) as (key, score): no single cosine dominates.

        Cosines are shifted to [0, 1]; those with `positive` keys are multiplied, and divided by those with `negative`
        ones. The keys of the query are left out. `topn=None` returns the scores of all rows. ValueError without
        positive keys.
        """
        if isinstance(topn, (int, np.integer)) and topn < 1:
            return Nearest()
        wanted, unwanted = listed(positive), listed(negative)
        if not wanted:
            raise ValueError("no positive keys are given; at least one is needed")
        known = {self.get_index(key) for key in wanted + unwanted if isinstance(key, KEY_TYPES) and key in self}
        vectors = self.vectors[: restrict_vocab or None]
        scores = self._product(wanted, len(vectors)) / (self._product(unwanted, len(vectors)) + TINY)
        if topn is None:
            return scores
        best = np.argsort(-scores, kind="stable")[: topn + len(known)]
        return Nearest([(self._key(i), float(scores[i])) for i in best if i not in known][:topn])

    def _product(self, items: list[Any], n: int) -> NDArray[Any]:
        """Return the product of the cosines, shifted to [0, 1], of items with the first n rows."""
        product = np.ones(n, dtype=self.vectors.dtype)
        for item in items:
            vector = item if isinstance(item, np.ndarray) else self.get_vector(item, norm=True)
            with np.errstate(invalid="ignore", divide="ignore"):
                product *= (1 + np.dot(self.vectors[:n], vector) / self._lengths()[:n]) / 2
        return product

    def relative_cosine_similarity(self, wa: Key, wb: Key, topn: int = 10) -> Any:
        """Return the cosine of two keys divided by the sum of those of the `topn` keys nearest to the first.

        Leeuwenberg and others, A Minimally Supervised Approach for Synonym Extraction (2016), equation 1. ValueError
        for a `topn` below 1.
        """
        nearest = self.similar_by_key(wa, topn)
        if not nearest:
            raise ValueError(f"topn is {topn}; it must be at least 1")
        return float(self.similarity(wa, wb)) / sum(cosine for _, cosine in nearest)
