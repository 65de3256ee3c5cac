"""`RequiredPhrases`: a constraint that a generated text contains given phrases, at any position."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError


class RequiredPhrases:
    """Lets a text of at most `max_new_tokens` ids end only when it contains all phrases (sequences of ids).

    A phrase can also be a list of alternatives, one of which must occur. The model decides where it writes the phrases.
    When the remaining tokens are only enough for the missing phrases, these are forced: first the phrase with the most
    ids already written; of alternatives only those that still fit.

    >>> phrases = RequiredPhrases([[4, 5]], vocab_size=6, end_ids=[0], max_new_tokens=3)
    >>> np.flatnonzero(phrases.allowed()).tolist()
    [1, 2, 3, 4, 5]
    >>> phrases.advance(2)
    >>> np.flatnonzero(phrases.allowed()).tolist()
    [4]
    """

    def __init__(
        self,
        phrases: Iterable[Sequence[int] | Sequence[Sequence[int]]],
        *,
        vocab_size: int,
        end_ids: Iterable[int],
        max_new_tokens: int,
    ) -> None:
        self._missing = [_alternatives(phrase) for phrase in phrases]
        self._any = np.ones(vocab_size, dtype=np.bool_)
        self._any[list(end_ids)] = False
        self._left = max_new_tokens
        self._text: tuple[int, ...] = ()
        listed = [phrase for any_of in self._missing for phrase in any_of]
        self._longest = max(map(len, listed), default=0)
        for phrase in listed:
            if not phrase or not all(0 <= id_ < vocab_size for id_ in phrase):
                raise OptionError(
                    f"force_words has {phrase!r}; it must be ids from 0 to {vocab_size - 1}, at least one"
                )
        needed = self._needed
        if needed > max_new_tokens:
            raise OptionError(f"force_words has {needed} tokens, and max_new_tokens is {max_new_tokens}; raise it")

    @property
    def _needed(self) -> int:
        """The number of ids in all missing phrases; the shortest of alternatives counts."""
        return sum(min(map(len, any_of)) for any_of in self._missing)

    @property
    def finished(self) -> bool:
        """Whether the text contains all phrases."""
        return not self._missing

    def allowed(self) -> NDArray[np.bool_]:
        """Return which ids may come next: (vocab_size)."""
        # Another token could interrupt a phrase; there must then still be room for the whole phrase.
        needed = self._needed
        if not self._missing or self._left > needed:
            return self._any
        fitting = []
        for any_of in self._missing:
            others = needed - min(map(len, any_of))
            for phrase in any_of:
                begun = self._begun(phrase)
                if len(phrase) - begun + others <= self._left:
                    fitting.append((begun, phrase))
        begun, phrase = max(fitting)
        forced = np.zeros_like(self._any)
        forced[phrase[begun]] = True
        return forced

    def _begun(self, phrase: tuple[int, ...]) -> int:
        """Return how many of the first ids of a phrase are at the end of the text."""
        most = min(len(phrase) - 1, len(self._text))
        return next((n for n in range(most, 0, -1) if self._text[-n:] == phrase[:n]), 0)

    def advance(self, id_: int) -> None:
        """Add the id that was chosen to the text."""
        self._text = (*self._text, id_)[-self._longest :] if self._longest else ()
        self._left -= 1
        self._missing = [any_of for any_of in self._missing
                         if not any(self._text[-len(phrase) :] == phrase for phrase in any_of)]  # fmt: skip

    def copy(self) -> RequiredPhrases:
        """Return an independent copy of this state."""
        return copy.copy(self)  # attributes are replaced, never modified in place


def _alternatives(phrase: Sequence[int] | Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the alternatives, one of which must occur: a single phrase, or several."""
    if len(phrase) and isinstance(phrase[0], Sequence):
        return tuple(tuple(each) for each in phrase)  # type: ignore[arg-type]  # then all items are sequences
    return (tuple(phrase),)  # type: ignore[arg-type]
