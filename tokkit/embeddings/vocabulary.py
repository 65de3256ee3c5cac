"""The words with vectors: chosen from a corpus, with the probabilities of keeping and drawing each word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit._core.embed.sentences import Negatives
from tokkit.errors import CorpusError, OptionError, VocabError

MIN_GUIDE, MAX_GUIDE = 1 << 10, 1 << 20
DRAWS = 1 << 31
"""The range of a random draw (csrc/embed/negatives.h)."""
MAX_EXPONENT = 1000
MAX_TOTAL = 1 << 62
"""Bound of the sum of counts in a file."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words and their counts, in descending order of counts; the id of a word is its index.

    >>> vocabulary = Vocabulary.of(["a", "rose", "is"], [3, 4, 1], min_count=2)
    >>> vocabulary.words, vocabulary.ids["a"], vocabulary.counts.tolist()
    (('rose', 'a'), 1, [4, 3])
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        counts: ArrayLike,
        *,
        min_count: int = 1,
        max_final_vocab: int | None = None,
        sorted_vocab: bool = True,
    ) -> Vocabulary:
        """Choose the words with at least `min_count` occurrences from words in order of first occurrence.

        `max_final_vocab` increases this bound until at most that many words are left; words with equal counts are kept
        or dropped together. Of words with equal counts the last one seen comes first, as in gensim. With
        `sorted_vocab=False` words stay in order of first occurrence. CorpusError if no word is left.
        """
        numbers = np.asarray(counts, dtype=np.int64)
        bound = least_count(numbers, min_count, max_final_vocab)
        kept = np.flatnonzero(numbers >= max(bound, 1))
        if not len(kept):
            most = (
                f"the most frequent of {len(words):,} words occurs {numbers.max():,} times"
                if len(words)
                else "no words"
            )
            raise CorpusError(f"no word occurs at least {bound} times ({most}); lower min_count, or give more text")
        if sorted_vocab:
            kept = kept[np.lexsort((-kept, -numbers[kept]))]
        return cls(tuple(words[i] for i in kept.tolist()), numbers[kept])

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids

    def __getitem__(self, word: str) -> int:
        """Return the id of a word; VocabError if it is missing."""
        if (id_ := self.ids.get(word)) is None:
            raise VocabError(f"{word!r} is not in the vocabulary of {len(self):,} words")
        return id_

    def updated(self, words: Sequence[str], counts: ArrayLike, *, min_count: int = 1) -> Vocabulary:
        """Return a vocabulary with the counts of another corpus added; every word keeps its id.

        New words with at least `min_count` occurrences come after all others, in order of first occurrence.
        """
        numbers = np.asarray(counts, dtype=np.int64)
        known = np.array([self.ids.get(word, -1) for word in words], dtype=np.int64)
        total = self.counts.copy()
        total[known[known >= 0]] += numbers[known >= 0]
        new = np.flatnonzero((known < 0) & (numbers >= max(min_count, 1)))
        return Vocabulary((*self.words, *(words[i] for i in new.tolist())), np.concatenate([total, numbers[new]]))

    @classmethod
    def stored(cls, words: Sequence[object], counts: ArrayLike) -> Vocabulary:
        """Return the vocabulary that a file states; ValueError for words that cannot be trained on."""
        if not all(isinstance(word, str) for word in words) or len(set(words)) != len(words):
            raise ValueError("the words must be different texts")
        return cls(tuple(cast("Sequence[str]", words)), stored_counts(counts, len(words)))

    def keep_probabilities(self, sample: float = 1e-3) -> NDArray[np.float64]:
        """Return the probability that an occurrence of each word is kept in the subsampling of frequent words.

        As in gensim: (√(count / t) + 1) · t / count, at most 1, with t = sample · total, or t = ⌊sample · (3 + √5) / 2⌋
        if sample is at least 1 (Mikolov et al. 2013, as in their program). 0 keeps everything.
        """
        if not sample:
            return np.ones(len(self))
        if not 0 < sample < float("inf"):
            raise OptionError(f"sample is {sample!r}; it must be a number of at least 0")
        bound = sample * self.total if sample < 1 else int(sample * (3 + np.sqrt(5)) / 2)
        counts = self.counts.astype(np.float64)
        return np.asarray(np.minimum((np.sqrt(counts / bound) + 1) * (bound / counts), 1.0))

    def negatives(self, ns_exponent: float = 0.75) -> Negatives:
        """Return the table for drawing words with probabilities proportional to count^ns_exponent."""
        if not -MAX_EXPONENT <= ns_exponent <= MAX_EXPONENT:
            raise OptionError(f"ns_exponent is {ns_exponent!r}; it must be from -{MAX_EXPONENT} to {MAX_EXPONENT}")
        # Relative to the largest, so that no exponent overflows.
        logs = np.log(self.counts.astype(np.float64)) * ns_exponent
        weights = np.cumsum(np.exp(logs - logs.max()))
        cumulated = np.round(weights / weights[-1] * DRAWS).astype(np.uint32)
        size = 2 << max(len(self) - 1, 1).bit_length()
        return Negatives(cumulated, np.zeros(min(max(size, MIN_GUIDE), MAX_GUIDE), dtype=np.uint32))


def stored_counts(counts: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the counts of n words in a file; ValueError unless all are above 0, with a sum below 2**62."""
    numbers = np.array(counts, dtype=np.int64)
    if numbers.shape != (n,) or numbers.min(initial=1) < 1 or numbers.sum(dtype=np.float64) >= MAX_TOTAL:
        raise ValueError(f"the counts must be {n} numbers of at least 1, with a sum below 2**62")
    return numbers


def least_count(counts: NDArray[np.int64], min_count: int, max_final_vocab: int | None) -> int:
    """Return the minimum count of kept words."""
    for name, value, least in (("min_count", min_count, 0), ("max_final_vocab", max_final_vocab, 1)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise OptionError(f"{name} is {value!r}; it must be an int of at least {least}")
    if max_final_vocab is None or max_final_vocab >= len(counts):
        return min_count
    falling = np.sort(counts)[::-1]
    return max(int(falling[max_final_vocab]) + 1, min_count)
