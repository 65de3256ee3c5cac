"""Vectors of words under the names of gensim's KeyedVectors: look-up, neighbours, evaluation, files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.embeddings.neighbours import Neighbours
from tokkit.embeddings.vector_store import Key


class KeyedVectors(Neighbours):
    """Keys and their vectors: `index_to_key`, `key_to_index`, and `vectors` (n, d), a row for each key.

    Made by training (`.wv`), by `of` from arrays, or by `load` from a file. Files are never unpickled.

    >>> words = KeyedVectors.of(["cat", "dog", "car"], np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32))
    >>> words["dog"], "cow" in words, len(words)
    (array([1. , 0.1], dtype=float32), False, 3)
    """

    @classmethod
    def of(cls, keys: Sequence[Key], vectors: NDArray[Any], counts: ArrayLike | None = None) -> Self:
        """Return the vectors (n, d) of n keys; they are not copied. `counts` (n,) becomes the attribute "count".

        ShapeError if the numbers differ, OptionError for a key that is given twice.
        """
        made = cls(1)
        made._fill(keys, vectors, counts)
        return made

    def vectors_for_all(
        self, keys: Iterable[Key], allow_inference: bool = True, copy_vecattrs: bool = False
    ) -> KeyedVectors:
        """Return new KeyedVectors of those of some keys that have vectors, each once and in their order.

        `allow_inference` takes keys too for which a subclass makes vectors, as fastText's does. `copy_vecattrs` copies
        attributes.
        """
        known = [key for key in dict.fromkeys(keys) if (key in self if allow_inference else key in self.key_to_index)]
        vectors = np.empty((len(known), self.vector_size), dtype=self.vectors.dtype)
        for i, key in enumerate(known):
            vectors[i] = self.get_vector(key)
        made = KeyedVectors.of(known, vectors, np.arange(len(known), 0, -1))
        if copy_vecattrs:
            for name in self.expandos:
                for key in known:
                    if self.has_index_for(key):
                        made.set_vecattr(key, name, self.get_vecattr(key, name))
        return made
