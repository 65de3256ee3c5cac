"""Similarities of given keys: cosines and distances of pairs, means of several keys, the odd one out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.embeddings.keys import KEY_TYPES, Key
from tokkit.embeddings.transport import cheapest
from tokkit.embeddings.vector_store import VectorStore
from tokkit.errors import ShapeError


def unit(vector: NDArray[Any]) -> NDArray[Any]:
    """Return a vector scaled to length 1; a zero vector is returned unchanged."""
    length = np.sqrt((vector.astype(np.float64) ** 2).sum())
    return (vector / length).astype(vector.dtype) if length > 0 else vector


class Similarities(VectorStore):
    """Queries about the keys given in the call."""

    def get_mean_vector(
        self,
        keys: Sequence[Key | NDArray[Any]] | NDArray[Any],
        weights: ArrayLike | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> NDArray[Any]:
        """Return the mean of the vectors of keys (or of vectors), weighted by `weights` (n,).

        The sum is divided by that of the absolute weights. `pre_normalize` scales the vectors of keys to length 1
        first, `post_normalize` the mean. Unknown keys are left out, or raise KeyError if `ignore_missing` is false.
        ValueError for no keys, another number of weights, or a vector of another length.
        """
        if len(keys) == 0:
            raise ValueError("no keys are given; at least one is needed")
        dtype = np.dtype(np.float32) if self._in_file is not None else self.vectors.dtype
        by = np.ones(len(keys), dtype=dtype) if weights is None else np.asarray(weights)
        if by.shape != (len(keys),):
            raise ValueError(f"weights have shape {by.shape}; there are {len(keys)} keys")
        total, mean = 0.0, np.zeros(self.vector_size, dtype=dtype)
        for key, weight in zip(keys, by, strict=True):
            if isinstance(key, np.ndarray):
                if key.shape != mean.shape:
                    raise ShapeError(f"a vector has shape {key.shape}; it must be {mean.shape}")
                mean += weight * key
            elif key in self:
                mean += weight * self.get_vector(key, norm=pre_normalize)
            elif ignore_missing:
                continue
            else:
                raise KeyError(f"Key '{key}' not present in vocabulary")
            total += abs(float(weight))
        if total > 0:
            mean = (mean / total).astype(mean.dtype)
        return unit(mean).astype(np.float32) if post_normalize else mean

    def similarity(self, w1: Key, w2: Key) -> Any:
        """Return the cosine of the vectors of two keys."""
        return np.dot(unit(self[w1]), unit(self[w2]))

    def distance(self, w1: Key, w2: Key) -> Any:
        """Return 1 − `similarity`."""
        return 1 - self.similarity(w1, w2)

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> Any:
        """Return the cosine of the means of two lists of keys; ZeroDivisionError if one is empty."""
        if not (len(ws1) and len(ws2)):
            raise ZeroDivisionError("a list of keys is empty; both need at least one key")
        means = [self.get_mean_vector(keys, pre_normalize=False) for keys in (ws1, ws2)]
        return np.dot(unit(means[0]), unit(means[1]))

    def wmdistance(self, document1: Sequence[Key], document2: Sequence[Key], norm: bool = True) -> float:
        """Return the word mover's distance of two documents, given as lists of words.

        Kusner and others, From Word Embeddings To Document Distances, 2015: all occurrences in a document have equal
        weight, and the cost is the Euclidean distance, with `norm` of vectors scaled to length 1. Unknown words are
        left out; the distance to a document without known words is infinite. OptionError without scipy.
        """
        words = [Counter(word for word in document if word in self) for document in (document1, document2)]
        if not all(words):
            return float("inf")
        shares = [np.array(list(counts.values())) / sum(counts.values()) for counts in words]
        first, second = (
            np.array([self.get_vector(word, norm=norm) for word in counts], dtype=np.float64) for counts in words
        )
        return cheapest(np.linalg.norm(first[:, np.newaxis] - second, axis=2), *shares)

    @staticmethod
    def cosine_similarities(vector_1: NDArray[Any], vectors_all: NDArray[Any]) -> NDArray[Any]:
        """Return the cosines (n,) of a vector (d,) with each row of (n, d)."""
        lengths = np.linalg.norm(vector_1) * np.linalg.norm(vectors_all, axis=1)
        return np.asarray(np.dot(vectors_all, vector_1) / lengths)

    def distances(self, word_or_vector: Key | NDArray[Any], other_words: Iterable[Key] | None = ()) -> NDArray[Any]:
        """Return 1 − the cosine of a key or vector (d,) with each of some keys, by default with all."""
        vector = self.get_vector(word_or_vector) if isinstance(word_or_vector, KEY_TYPES) else word_or_vector
        others = [] if other_words is None else [self.get_index(word) for word in other_words]
        if others:
            found = self.cosine_similarities(vector, self.vectors[others])
        else:
            with np.errstate(invalid="ignore", divide="ignore"):
                found = np.dot(self.vectors, vector) / (self._lengths() * np.linalg.norm(vector))
        return np.asarray(1 - found)

    def closer_than(self, key1: Key, key2: Key) -> list[Any]:
        """Return the keys nearer to `key1` than `key2` is."""
        distances = self.distances(key1)
        row, bound = self.get_index(key1), distances[self.get_index(key2)]
        return [self._key(i) for i in np.flatnonzero(distances < bound).tolist() if i != row]

    def rank(self, key1: Key, key2: Key) -> int:
        """Return the rank of `key2` among the neighbours of `key1`, 1 for the nearest."""
        return len(self.closer_than(key1, key2)) + 1

    def most_similar_to_given(self, key1: Key, keys_list: Sequence[Key]) -> Key:
        """Return the most similar of some keys to `key1`."""
        return keys_list[int(np.argmax([self.similarity(key1, key) for key in keys_list]))]

    def rank_by_centrality(self, words: Sequence[Key], use_norm: bool = True) -> list[tuple[Any, Any]]:
        """Return (similarity to the mean of all keys, key) for the given keys, the most similar first.

        Unknown keys are left out; ValueError if none is known.
        """
        known = [word for word in words if word in self]
        if not known:
            raise ValueError(f"none of {list(words)!r} has a vector; at least one is needed")
        vectors = np.vstack([self.get_vector(word, norm=use_norm) for word in known]).astype(np.float32)
        mean = self.get_mean_vector(vectors, post_normalize=True)
        return sorted(zip(np.dot(vectors, mean), known, strict=True), reverse=True)

    def doesnt_match(self, words: Sequence[Key]) -> Any:
        """Return the key farthest from the mean of all keys.

        >>> from tokkit.embeddings import KeyedVectors
        >>> vectors = np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32)
        >>> KeyedVectors.of(["cat", "dog", "car"], vectors).doesnt_match(["cat", "dog", "car"])
        'car'
        """
        return self.rank_by_centrality(words)[-1][1]
