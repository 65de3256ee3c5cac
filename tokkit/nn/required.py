"""`RequiredPhrases`: a constraint by which phrases come in a text, wherever the model likes, before it ends."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError


class RequiredPhrases:
    """Lets a text of at most `max_new_tokens` ids end only when all phrases, sequences of ids, have come in it.

    In place of a phrase there may be several, of which one must come. Phrases come where the model writes them. Those
    that have not come when there is room for no other token are forced then, the one first of which most has come; of
    several, those that there is room for.

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
        """The ids of all that is missing: of alternatives, those of the shortest."""
        return sum(min(map(len, any_of)) for any_of in self._missing)

    @property
    def finished(self) -> bool:
        """Whether all phrases have come."""
        return not self._missing

    def allowed(self) -> NDArray[np.bool_]:
        """Return which ids may come next: (vocab_size)."""
        # Another token could break off what has begun; there must be room for all of it then.
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
        """Return how many ids of a phrase the text ends with."""
        most = min(len(phrase) - 1, len(self._text))
        return next((n for n in range(most, 0, -1) if self._text[-n:] == phrase[:n]), 0)

    def advance(self, id_: int) -> None:
        """Take an id that has come."""
        self._text = (*self._text, id_)[-self._longest :] if self._longest else ()
        self._left -= 1
        self._missing = [any_of for any_of in self._missing
                         if not any(self._text[-len(phrase) :] == phrase for phrase in any_of)]  # fmt: skip

    def copy(self) -> RequiredPhrases:
        """Return a state of its own at the same place."""
        return copy.copy(self)  # what changes is replaced, not changed


def _alternatives(phrase: Sequence[int] | Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the phrases of which one must come: a phrase alone, or several."""
    if len(phrase) and isinstance(phrase[0], Sequence):
        return tuple(tuple(each) for each in phrase)  # type: ignore[arg-type]  # all are sequences then
    return (tuple(phrase),)  # type: ignore[arg-type]
