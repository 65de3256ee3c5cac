"""A text in, its words behind visible spaces out, as SentencePiece marks them."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText
from tokkit.errors import OptionError
from tokkit.pretokenizers.behaviors import MERGED_WITH_NEXT

SCHEMES = ("never", "always", "first")
"""By the numbers of csrc/pretokenize.h."""


@dataclass(frozen=True, slots=True)
class Metaspace:
    """Put `replacement` (one character) in the place of each space, and cut before each of them (`split`).

    Pieces that do not start with it get one: all ("always"), none ("never"), or those that begin where the original
    does ("first").

    >>> text = AlignedText("Hey friend")
    >>> Metaspace().pretokenize(text)
    >>> text.pieces
    ['▁Hey', '▁friend']
    """

    replacement: str = "▁"
    prepend_scheme: str = "always"
    split: bool = True

    def __post_init__(self) -> None:
        one = isinstance(self.replacement, str) and len(self.replacement) == 1
        if not one or "\ud800" <= self.replacement <= "\udfff":
            raise OptionError(f"replacement is {self.replacement!r}; it must be one character")
        if self.prepend_scheme not in SCHEMES:
            raise OptionError(f"prepend_scheme is {self.prepend_scheme!r}; it must be one of {', '.join(SCHEMES)}")

    def pretokenize(self, text: AlignedText) -> None:
        """Change the pieces of a text, and cut them further."""
        pretokenize.metaspace(text, self.replacement, SCHEMES.index(self.prepend_scheme))
        if self.split:
            pretokenize.split_by_character(text, self.replacement, MERGED_WITH_NEXT)
