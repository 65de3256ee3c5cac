"""Word vectors that are means of subword rows, so that unknown words have vectors too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit.embeddings.fasttext_file import FastTextArgs
from tokkit.embeddings.fasttext_rows import Ends, FastTextRows, Rows, character_ngrams, mean, means
from tokkit.embeddings.keyed_vectors import KeyedVectors
from tokkit.embeddings.keys import KEY_TYPES, Key
from tokkit.embeddings.product_quantizer import QuantizedMatrix
from tokkit.embeddings.similarities import unit

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer


class Subwords(Protocol):
    """The subwords of words; their rows follow those of the words."""

    def rows(self, words: Sequence[str], *, own: bool) -> tuple[Ends, Rows]:
        """Return the rows of each word: with `own` the row of the word, then those of its subwords."""

    def names(self, word: str) -> list[str]:
        """Return the subwords of a word, one for each row."""


class CharacterNgrams:
    """Character n-grams; their hashes are their rows."""

    def __init__(
        self, args: FastTextArgs, words: Sequence[bytes], row_of_bucket: NDArray[np.int32] | None = None
    ) -> None:
        self.args, self.row_of_bucket = args, row_of_bucket
        self._rows = FastTextRows(args, words, len(words), prefix=b"", row_of_bucket=row_of_bucket)

    def rows(self, words: Sequence[str], *, own: bool) -> tuple[Ends, Rows]:
        """Return the rows of words."""
        return self._rows.of_words([word.encode("utf-8", "surrogateescape") for word in words], own=own)

    def names(self, word: str) -> list[str]:
        """Return the n-grams of "<word>"."""
        return character_ngrams(word, self.args.min_n, self.args.max_n)


class TokenSubwords:
    """The tokens of a tokenizer; their ids are their rows."""

    def __init__(self, tokenizer: Tokenizer, n_words: int) -> None:
        self.tokenizer, self.n_words = tokenizer, n_words

    def rows(self, words: Sequence[str], *, own: bool) -> tuple[Ends, Rows]:
        """Return the rows of words."""
        if not len(words):
            return np.empty(0, np.int64), np.empty(0, np.uint32)
        ids, offsets = self.tokenizer.encode_batch(list(words))
        ends, rows = np.asarray(offsets[1:], dtype=np.int64), np.asarray(ids, dtype=np.uint32) + np.uint32(self.n_words)
        if own:
            rows = np.insert(rows, np.asarray(offsets[:-1], dtype=np.int64), np.arange(len(words), dtype=np.uint32))
            ends = ends + np.arange(1, len(words) + 1)
        return ends, rows.astype(np.uint32)

    def names(self, word: str) -> list[str]:
        """Return the tokens of a word as text."""
        ids, _ = self.tokenizer.encode_batch([word])
        return [self.tokenizer.token_bytes(int(id_)).decode("utf-8", "backslashreplace") for id_ in ids]


class FastTextKeyedVectors(KeyedVectors):
    """Vectors of words, and of any other text without white space through its subwords."""

    subwords: Subwords
    matrix: NDArray[np.float32] | QuantizedMatrix
    """(words + subwords, d): the rows whose means are the vectors."""

    @classmethod
    def of_rows(
        cls,
        words: Sequence[str],
        counts: NDArray[np.int64],
        matrix: NDArray[np.float32] | QuantizedMatrix,
        subwords: Subwords,
        *,
        threads: int = 1,
    ) -> FastTextKeyedVectors:
        """Return the vectors of words; their rows are the first ones of `matrix`."""
        made = cls.of(list(words), np.empty((len(words), matrix.shape[1]), dtype=np.float32), counts)
        made.matrix, made.subwords = matrix, subwords
        made.adjust_vectors(threads=threads)
        return made

    def adjust_vectors(self, *, threads: int = 1) -> None:
        """Compute the vectors of words again from the rows, after training."""
        self.vectors = means(self.matrix, *self.subwords.rows(self.index_to_key, own=True), threads=threads)
        self.norms = None

    @property
    def vectors_vocab(self) -> NDArray[np.float32]:
        """(words, d): the rows of the words themselves."""
        return self._taken(slice(0, len(self)))

    @property
    def vectors_ngrams(self) -> NDArray[np.float32]:
        """(subwords, d): a copy of the rows of subwords; n-grams that occur in no word share a row of zeros."""
        row_of_bucket = getattr(self.subwords, "row_of_bucket", None)
        return self._taken(slice(len(self), None) if row_of_bucket is None else len(self) + row_of_bucket)

    def _taken(self, rows: slice | NDArray[Any]) -> NDArray[np.float32]:
        taken: NDArray[np.float32] = (
            self.matrix.take(rows) if isinstance(self.matrix, QuantizedMatrix) else self.matrix[rows]
        )
        return taken

    def __contains__(self, key: object) -> bool:
        """Return whether a key has a vector: a word of the vocabulary, or one with subwords."""
        return self.has_index_for(key) or (isinstance(key, str) and bool(self.subwords.names(key)))

    def get_vector(self, key: Key, norm: bool = False) -> NDArray[Any]:
        """Return the vector of a word, or the mean of its subwords' rows; KeyError without subwords."""
        if not isinstance(key, str) or self.has_index_for(key):
            return super().get_vector(key, norm)
        _, rows = self.subwords.rows([key], own=False)
        if not len(rows):
            raise KeyError(f"Key '{key}' not present, and it has no subwords")
        found = mean(self.matrix, rows)
        return unit(found) if norm else found

    def get_sentence_vector(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of the vectors of words, each scaled to length 1; words without a vector are left out."""
        known = [word for word in words if word in self]
        if not known:
            return np.zeros(self.vector_size, dtype=np.float32)
        made: NDArray[np.float32] = np.mean([unit(self.get_vector(word)) for word in known], axis=0)
        return made

    def subword_vectors(self, word: str) -> tuple[list[str], NDArray[np.float32]]:
        """Return the subwords of a word, known or not, and their rows (n, d)."""
        return self.subwords.names(word), self._taken(self.subwords.rows([word], own=False)[1])

    def most_similar_subwords(self, key: Key | NDArray[Any], topn: int = 10) -> list[tuple[str, float]]:
        """Return the `topn` subwords of the vocabulary's words nearest to a word or a vector, as (subword, cosine)."""
        query = self.get_vector(key) if isinstance(key, KEY_TYPES) else key
        ends, rows = self.subwords.rows(self.index_to_key, own=False)
        different, first = np.unique(rows, return_index=True)
        vectors = self._taken(different)
        lengths = np.linalg.norm(vectors, axis=1)
        cosines = vectors @ unit(query).astype(np.float32) / np.maximum(lengths, np.finfo(np.float32).tiny)
        best = np.argsort(-cosines, kind="stable")[:topn]
        words = np.searchsorted(ends, first[best], side="right")
        places = first[best] - np.where(words, ends[words - 1], 0)
        names = [
            self.subwords.names(self.index_to_key[word])[place]
            for word, place in zip(words.tolist(), places.tolist(), strict=True)
        ]
        return list(zip(names, cosines[best].tolist(), strict=True))
