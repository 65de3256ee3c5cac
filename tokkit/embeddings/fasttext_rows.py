"""Rows of the input matrix for words and texts: words, and n-grams by their hashes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.fasttext import row_means
from tokkit._core.embed.labelled import LabelledWords, LineRows, NgramRows, word_hashes
from tokkit.embeddings.fasttext_file import END_OF_LINE, FastTextArgs, FastTextData
from tokkit.embeddings.product_quantizer import QuantizedMatrix

Ends = NDArray[np.int64]
Rows = NDArray[np.uint32]
_ROWS_AT_ONCE = 1 << 14


def character_ngrams(word: str, min_n: int, max_n: int) -> list[str]:
    """Return the n-grams of "<word>" in the order of their rows.

    >>> character_ngrams("apple", 3, 3)
    ['<ap', 'app', 'ppl', 'ple', 'le>']
    """
    whole = f"<{word}>"
    n = len(whole)
    return [
        whole[i : i + size]
        for i in range(n)
        for size in range(max(min_n, 1), min(max_n, n - i) + 1)
        if not (size == 1 and i in (0, n - 1))
    ]


class FastTextRows:
    """Finds the rows of words and texts for a model's dictionary.

    `dropped` are words of the training text without rows; they are numbered after the labels.
    """

    def __init__(
        self,
        args: FastTextArgs,
        words: Sequence[bytes],
        n_words: int,
        *,
        prefix: bytes,
        pruned: NDArray[np.int32] | None = None,
        row_of_bucket: NDArray[np.int32] | None = None,
        dropped: Sequence[bytes] = (),
    ) -> None:
        self.args, self.n_words = args, n_words
        self.words = LabelledWords(words)
        self._given = words, prefix, dropped
        left = None
        if pruned is not None:
            left = np.full(args.bucket, -1, dtype=np.int32)
            left[pruned[:, 0]] = pruned[:, 1]
        bucket = args.bucket if args.max_n or args.word_ngrams > 1 else 0
        # Rows as numbered in files, and as rows of the matrix in memory.
        self._numbers, self._ngrams = (
            NgramRows(min_n=args.min_n, max_n=args.max_n, bucket=bucket, first=n_words, left=rows)
            for rows in (left, left if row_of_bucket is None else row_of_bucket)
        )

    @cached_property
    def lines(self) -> LineRows:
        """The matrix of the rows."""
        words, prefix, dropped = self._given
        args, n_labels = self.args, len(words) - self.n_words
        named = [*words[: self.n_words], *[END_OF_LINE] * n_labels, *dropped]
        ends, rows = self.of_words(named, own=True) if args.max_n else (np.empty(0, np.int64), np.empty(0, np.uint32))
        hashes = np.frombuffer(word_hashes(named), np.uint32) if args.word_ngrams > 1 else np.empty(0, np.uint32)
        return LineRows(
            self.words,
            self.n_words,
            n_labels,
            prefix,
            ends=ends,
            rows=rows,
            hashes=hashes,
            word_ngrams=args.word_ngrams,
            ngrams=self._ngrams,
        )

    @classmethod
    def of(cls, data: FastTextData, prefix: bytes) -> FastTextRows:
        """Return the rows of a model."""
        return cls(
            data.args, data.words, data.n_words, prefix=prefix, pruned=data.pruned, row_of_bucket=data.row_of_bucket
        )

    def of_words(self, words: Sequence[bytes], *, own: bool) -> tuple[Ends, Rows]:
        """Return the rows of words: those of n-grams, preceded with `own` by the rows of the first n_words."""
        ends, rows = self._ngrams.of_words(
            [None if word == END_OF_LINE else word for word in words], n_own=self.n_words if own else 0
        )
        return np.frombuffer(ends, np.int64), np.frombuffer(rows, np.uint32)

    def of_word(self, word: bytes) -> Rows:
        """Return the rows of one word: its own row, if it is in the dictionary, and those of its n-grams."""
        found = self.words.find(word)
        own = [found] if 0 <= found < self.n_words else []
        return np.concatenate([np.array(own, np.uint32), self.of_words([word], own=False)[1]])

    def numbers_of_word(self, word: bytes) -> Rows:
        """Return `of_word` as rows of a file, which has one row for each bucket."""
        found = self.words.find(word)
        own = [found] if 0 <= found < self.n_words else []
        ngrams = np.frombuffer(self._numbers.of_words([None if word == END_OF_LINE else word], n_own=0)[1], np.uint32)
        return np.concatenate([np.array(own, np.uint32), ngrams])

    def of_texts(self, texts: Sequence[bytes]) -> tuple[Ends, Rows]:
        """Return the rows of texts without line ends."""
        ends, rows = self.lines.of_texts(texts)
        return np.frombuffer(ends, np.int64), np.frombuffer(rows, np.uint32)


def mean(matrix: NDArray[np.float32] | QuantizedMatrix, rows: Rows) -> NDArray[np.float32]:
    """Return the mean of some rows; zeros without rows."""
    made: NDArray[np.float32] = means(matrix, np.array([len(rows)], dtype=np.int64), rows)[0]
    return made


def means(
    matrix: NDArray[np.float32] | QuantizedMatrix, ends: Ends, rows: Rows, *, threads: int = 1
) -> NDArray[np.float32]:
    """Return the mean of each group of rows; zeros for an empty group."""
    made = np.zeros((len(ends), matrix.shape[1]), dtype=np.float32)
    if isinstance(matrix, QuantizedMatrix):
        starts = np.concatenate([[0], ends[:-1]])
        for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            for at in range(start, end, _ROWS_AT_ONCE):
                made[i] += matrix.take(rows[at : min(at + _ROWS_AT_ONCE, end)]).sum(0)
        made /= np.maximum(ends - starts, 1)[:, None].astype(np.float32)
    else:
        row_means(matrix, rows, ends, made, threads=threads)
    return made
