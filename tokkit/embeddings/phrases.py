"""Finds phrases, words that occur together more often than by chance, and joins each into one word."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tokkit.checks import ordered
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.strict_json import loads, why

StrPath = str | os.PathLike[str]
ENGLISH_CONNECTOR_WORDS = frozenset("a an the for of with without at from to in on by and or".split())  # noqa: SIM905
"""Words allowed inside a phrase, but not at its ends: "bank of england"."""


@dataclass(frozen=True)
class Counts:
    """The input of a score: counts of the ends and of the phrase, and the sizes of vocabulary and corpus."""

    first: int
    last: int
    phrase: int
    vocab: int
    min_count: int
    words: int


def original_score(c: Counts) -> float:
    """Return (phrase - min_count) · vocab / (first · last) (Mikolov et al. 2013, equation 6, times the vocabulary)."""
    return (c.phrase - c.min_count) / c.first / c.last * c.vocab


def npmi_score(c: Counts) -> float:
    """Return the normalized pointwise mutual information (Bouma 2009), from -1 to 1; -∞ below min_count."""
    if c.phrase < c.min_count:
        return -math.inf
    together = c.phrase / c.words
    if together == 1:  # the limit
        return 1.0
    return math.log(together / (c.first / c.words) / (c.last / c.words)) / -math.log(together)


SCORES: dict[str, Callable[[Counts], float]] = {"default": original_score, "npmi": npmi_score}


@dataclass(frozen=True)
class FrozenPhrases:
    """Phrases with their scores, without counts: `phrases[sentence]` joins them, also for many sentences.

    >>> phrases = FrozenPhrases({"new_york": 12.5})
    >>> phrases[["in", "new", "york", "city"]]
    ['in', 'new_york', 'city']
    """

    phrasegrams: Mapping[str, float]
    delimiter: str = "_"
    connector_words: frozenset[str] = field(default=frozenset())

    def score_of(self, words: Sequence[str]) -> float | None:
        """Return the score of words if they are a phrase, else None."""
        return self.phrasegrams.get(self.delimiter.join(words))

    def __getitem__(self, sentence: Iterable[Any]) -> Any:
        """Return the words of a sentence with phrases joined; for several sentences, an iterable of such lists."""
        if isinstance(sentence, str):
            raise OptionError("the sentence is one text; it must be a list of words, as text.split() makes")
        if isinstance(sentence, (list, tuple)) and all(isinstance(word, str) for word in sentence):
            return [words for words, _ in self.analyze_sentence(sentence)]
        return _Joined(self, sentence)

    def analyze_sentence(self, sentence: Sequence[str]) -> Iterator[tuple[str, float | None]]:
        """Yield each word or joined phrase, with the score of a phrase; of overlapping phrases the first one."""
        inner = [i for i, word in enumerate(sentence) if word not in self.connector_words]
        done = k = 0
        while k + 1 < len(inner):
            start, end = inner[k], inner[k + 1] + 1
            score = self.score_of(sentence[start:end])
            k += 1
            if score is not None:
                yield from ((word, None) for word in sentence[done:start])
                yield self.delimiter.join(sentence[start:end]), score
                done, k = end, k + 1
        yield from ((word, None) for word in sentence[done:])

    def find_phrases(self, sentences: Iterable[Sequence[str]]) -> dict[str, float]:
        """Return the phrases in sentences and their scores."""
        pairs = (
            pair
            for sentence in ordered(sentences, "sentences", "sentences")
            for pair in self.analyze_sentence(sentence)
        )
        return {phrase: score for phrase, score in pairs if score is not None}

    def save(self, path: StrPath) -> None:
        """Write the phrases to a JSON file."""
        about = {
            "phrasegrams": dict(self.phrasegrams),
            "delimiter": self.delimiter,
            "connector_words": sorted(self.connector_words),
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(about, file, ensure_ascii=False)

    @classmethod
    def load(cls, path: StrPath) -> FrozenPhrases:
        """Read a file written by `save`; FormatError for another file."""
        data = files.read_bytes(path)
        try:
            about = loads(data)
            scores = {str(phrase): float(score) for phrase, score in about["phrasegrams"].items()}
            return cls(scores, str(about["delimiter"]), frozenset(about["connector_words"]))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise FormatError(f"{os.fspath(path)} is not a file of phrases: {why(error)}") from None


class Phrases:
    """Counts words and pairs of words in sentences, and scores pairs; names and defaults are those of gensim.

    `scoring` "default" is that of the word2vec paper, and "npmi" is between -1 and 1. Phrases are pairs with at least
    `min_count` occurrences and a score above `threshold`. Connector words are allowed inside a phrase.

    >>> sentences = [["new", "york", "is", "large"], ["in", "new", "york"], ["a", "new", "day"], ["new", "york"]]
    >>> phrases = Phrases(sentences, min_count=1, threshold=1)
    >>> phrases[["i", "love", "new", "york"]]
    ['i', 'love', 'new_york']
    """

    def __init__(
        self,
        sentences: Iterable[Sequence[str]] | None = None,
        min_count: int = 5,
        threshold: float = 10.0,
        *,
        delimiter: str = "_",
        scoring: str | Callable[[Counts], float] = "default",
        connector_words: Iterable[str] = frozenset(),
    ) -> None:
        if isinstance(min_count, bool) or not isinstance(min_count, int) or min_count < 1:
            raise OptionError(f"min_count is {min_count!r}; it must be an int of at least 1")
        if isinstance(scoring, str) and scoring not in SCORES:
            raise OptionError(f'scoring is {scoring!r}; it must be "default", "npmi" or a function of Counts')
        lowest = -1 if scoring == "npmi" else 0
        if not lowest <= threshold < math.inf or (scoring == "npmi" and threshold > 1):
            raise OptionError(f'threshold is {threshold!r}; it must be above 0, or with "npmi" between -1 and 1')
        self.min_count, self.threshold, self.delimiter = min_count, threshold, delimiter
        self.scoring = SCORES[scoring] if isinstance(scoring, str) else scoring
        self.connector_words = frozenset(connector_words)
        self.vocab: Counter[str] = Counter()
        self.corpus_word_count = 0
        if sentences is not None:
            self.add_vocab(sentences)

    def add_vocab(self, sentences: Iterable[Sequence[str]]) -> None:
        """Count the words and pairs of more sentences."""
        connectors, join = self.connector_words, self.delimiter.join
        for sentence in ordered(sentences, "sentences", "sentences"):
            words = sentence.split() if isinstance(sentence, str) else sentence
            inner = [i for i, word in enumerate(words) if word not in connectors]
            self.vocab.update([words[i] for i in inner])
            self.vocab.update([join(words[i : j + 1]) for i, j in pairwise(inner)])
            self.corpus_word_count += len(words)

    def score_of(self, words: Sequence[str]) -> float | None:
        """Return the score of words if they are a phrase, else None."""
        phrase, first, last = (self.vocab.get(w, 0) for w in (self.delimiter.join(words), words[0], words[-1]))
        if not phrase or not first or not last:
            return None
        counts = Counts(first, last, phrase, len(self.vocab), self.min_count, self.corpus_word_count)
        score = self.scoring(counts)
        return score if score > self.threshold else None

    def export_phrases(self) -> dict[str, float]:
        """Return all phrases of the counted sentences, and their scores."""
        parts = ((phrase, phrase.split(self.delimiter)) for phrase in self.vocab)
        scored = ((phrase, self.score_of(words)) for phrase, words in parts if len(words) > 1)
        return {phrase: score for phrase, score in scored if score is not None}

    def freeze(self) -> FrozenPhrases:
        """Return the phrases without the counts: smaller and faster, but fixed."""
        return FrozenPhrases(self.export_phrases(), self.delimiter, self.connector_words)

    def find_phrases(self, sentences: Iterable[Sequence[str]]) -> dict[str, float]:
        """Return the phrases in sentences and their scores."""
        return self.freeze().find_phrases(sentences)

    def __getitem__(self, sentence: Iterable[Any]) -> Any:
        """Return the words of a sentence with phrases joined; for several sentences, an iterable of such lists."""
        return _Scored(self)[sentence]


class _Scored(FrozenPhrases):
    """Scores pairs on access."""

    def __init__(self, phrases: Phrases) -> None:
        super().__init__({}, phrases.delimiter, phrases.connector_words)
        object.__setattr__(self, "score_of", phrases.score_of)


class _Joined:
    """Sentences with phrases joined; can be iterated repeatedly if the sentences can."""

    def __init__(self, phrases: FrozenPhrases, sentences: Iterable[Any]) -> None:
        self._phrases, self._sentences = phrases, ordered(sentences, "sentences", "sentences")

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self._sentences:
            yield self._phrases[sentence.split() if isinstance(sentence, str) else list(sentence)]
