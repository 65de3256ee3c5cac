"""Prepares a corpus for training SentencePiece models: normalized words, their alphabet, and units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tokkit._core.charsmap import Normalizer
from tokkit._core.train.sp_train import PieceRules
from tokkit._core.train.word_counts import WordCounts
from tokkit.errors import CorpusError, OptionError

SPACE_MARK = "\u2581"
UNKNOWN_MARK = "\u2585"
"""Sentences with this character are left out, as in sentencepiece, which uses it for unknown characters."""
BOUNDARY = "\x1f"
"""Replaces user-defined symbols and separates the parts of a sentence, as in sentencepiece. No piece holds it."""
NO_CHARACTERS = "\0 " + UNKNOWN_MARK + BOUNDARY
"""Characters that are never in the alphabet."""


@dataclass(frozen=True)
class Cut:
    """A user's function that splits sentences, and whether the parts must be the whole sentence."""

    function: Callable[[str], Iterable[str]]
    consistent: bool

    def __call__(self, line: bytes) -> bytes:
        """Return a sentence with U+001F at the splits; the function sees it for symbols too, as in sentencepiece."""
        given = line.decode()
        parts = list(self.function(given))
        if self.consistent and (joined := "".join(parts)) != given:
            raise OptionError(
                f"pretokenizer made {joined!r:.80} of {given!r:.80}; the parts together must be the sentence; or pass "
                "allow_inconsistent_pretokenization=True"
            )
        return BOUNDARY.join(parts).replace(" ", SPACE_MARK).encode()


def normalized_words(
    texts: WordCounts,
    rules: PieceRules,
    normalizer: Normalizer,
    symbols: Sequence[str],
    cut: Cut | None = None,
    folder: bytes | None = None,
) -> WordCounts:
    """Return the words of counted texts, in mapped files in a `folder`.

    U+001F is in the place of each user-defined symbol, and wherever `cut` splits a sentence.
    """
    if cut is None and not any(SPACE_MARK in symbol for symbol in symbols):
        words = rules.words(texts, normalizer, folder)
        if not any(words.contains(symbol.encode()) for symbol in symbols):
            return words
        words.close()
    by_length = sorted((symbol.encode() for symbol in symbols), key=len, reverse=True)
    pattern = re.compile(b"|".join(map(re.escape, by_length)) or b"(?!)")
    apart = WordCounts(0, folder)
    for text, count in texts.items():
        line = pattern.sub(BOUNDARY.encode(), normalizer.normalize(text))
        if line:
            apart.add_word((cut(line) if cut is not None else line) or BOUNDARY.encode(), count)
    as_it_is = Normalizer(b"", [], add_prefix=False, remove_extra=False, escape=True)
    return rules.words(apart, as_it_is, folder)


def alphabet_of(words: WordCounts, coverage: float, required: str) -> dict[str, int]:
    """Return characters and their counts, the most frequent first; ties go to the smaller character.

    They are those needed to reach the coverage, of which the `required` ones come first, even if they do not occur.
    Shares are compared in single precision, as in sentencepiece.
    """
    counts = {chr(code): times for code, times, _ in words.characters()}
    counts = {character: times for character, times in counts.items() if character not in "\0 "}
    total = sum(counts.values())
    if not total:
        raise CorpusError("the corpus has no character to train on")
    first = set(required) - {"\0"}
    by_count = sorted({*counts, *first}, key=lambda c: (c not in first, -counts.get(c, 0), c))
    kept = {}
    covered = 0
    for character in by_count:
        if np.float32(covered / total) >= np.float32(coverage):
            break
        covered += counts.get(character, 0)
        if character not in NO_CHARACTERS:
            kept[character] = counts.get(character, 0)
    if not kept:
        raise CorpusError("the corpus has no character to train on")
    return dict(sorted(kept.items(), key=lambda item: (-item[1], item[0])))
