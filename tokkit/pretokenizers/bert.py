"""A text in, the pieces of BERT out: punctuation characters, and the words between them and white space."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText


@dataclass(frozen=True, slots=True)
class Bert:
    """Drop white space, and make each punctuation character a piece.

    >>> text = AlignedText("Don't stop.")
    >>> Bert().pretokenize(text)
    >>> text.pieces
    ['Don', "'", 't', 'stop', '.']
    """

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        pretokenize.split_bert(text)
