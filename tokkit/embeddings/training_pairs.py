"""The training pairs of word2vec, as listed in the literature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokkit.errors import OptionError


def training_pairs(words: Sequence[str], window: int = 5, *, sg: int = 0, borders: bool = True) -> list[Any]:
    """Return the pairs of a sentence with full windows: (context, word) for CBOW, (word, context word) for skip-gram.

    `borders=False` leaves out words whose windows exceed the sentence, as in figures of the literature; training uses
    them. Training also shrinks each window at random and drops frequent words.

    >>> training_pairs("the quick brown fox jumps".split(), 1, borders=False)
    [(('the', 'brown'), 'quick'), (('quick', 'fox'), 'brown'), (('brown', 'jumps'), 'fox')]
    >>> training_pairs("the quick brown".split(), 1, sg=1)
    [('the', 'quick'), ('quick', 'the'), ('quick', 'brown'), ('brown', 'quick')]
    """
    if isinstance(words, str):
        raise OptionError("words is one text; it must be a list of words, as text.split() makes")
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise OptionError(f"window is {window!r}; it must be an int of at least 1")
    centres = range(len(words)) if borders else range(window, len(words) - window)
    pairs: list[Any] = []
    for i in centres:
        context = (*words[max(0, i - window) : i], *words[i + 1 : i + window + 1])
        if sg:
            pairs += [(words[i], other) for other in context]
        elif context:
            pairs.append((context, words[i]))
    return pairs
