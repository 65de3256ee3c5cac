"""A file of word vectors in any format: refused by an error of tokkit, or vectors that every format keeps."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import mutate
from mutate_binary import of_header
from tokkit.embeddings import KeyedVectors
from tokkit.errors import OptionError, TokkitError

__all__ = ["CHANGE", "check"]

CHANGE = mutate.one_of(mutate.of_lines, mutate.of_lines, mutate.of_bytes, mutate.of_bytes, of_header)


SHORTEST, LONGEST = 1e-18, 1e18
"""Lengths of vectors whose squares float32 has."""


def same(given: KeyedVectors, back: KeyedVectors) -> None:
    assert sorted(map(str, back.index_to_key)) == sorted(map(str, given.index_to_key))
    for key in given.index_to_key:
        assert back[key].tobytes() == np.float32(given[key]).tobytes(), key


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "given", Path(folder) / "again"
        path.write_bytes(data)
        try:
            vectors = KeyedVectors.load(path)
        except TokkitError:
            return
        n = len(vectors)
        assert vectors.vectors.shape == (n, vectors.vector_size)
        assert len(set(vectors.index_to_key)) == n
        assert [vectors.key_to_index[key] for key in vectors.index_to_key] == list(range(n))
        try:
            found = vectors.most_similar(vectors.index_to_key[0], topn=3) if n else []
        except OptionError:  # a vector without a direction
            found = []
        for key, similarity in found:
            length = np.linalg.norm(vectors[key].astype(np.float64))
            assert abs(similarity) < 1.001 or not SHORTEST < length < LONGEST, (key, similarity)
        vectors.save(again)
        same(vectors, KeyedVectors.load(again))
        for binary in (False, True):
            try:
                vectors.save_word2vec_format(again, binary=binary)
            except OptionError:  # keys that the format cannot have
                continue
            same(vectors, KeyedVectors.load_word2vec_format(again, binary=binary))
