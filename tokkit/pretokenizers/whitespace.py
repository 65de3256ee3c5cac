r"""A text in, words and runs of punctuation out: \w+|[^\w\s]+."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText


@dataclass(frozen=True, slots=True)
class Whitespace:
    r"""Drop white space, and make runs of \w and runs of other characters pieces.

    >>> text = AlignedText("Hi, you!?")
    >>> Whitespace().pretokenize(text)
    >>> text.pieces
    ['Hi', ',', 'you', '!?']
    """

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        pretokenize.split_words(text)
