"""A text in, what stands between delimiters out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText
from tokkit.errors import OptionError
from tokkit.pretokenizers.behaviors import REMOVED


@dataclass(frozen=True, slots=True)
class CharDelimiterSplit:
    """Drop each `delimiter`, which is one character.

    >>> text = AlignedText("a,b,,c")
    >>> CharDelimiterSplit(",").pretokenize(text)
    >>> text.pieces
    ['a', 'b', 'c']
    """

    delimiter: str

    def __post_init__(self) -> None:
        one = isinstance(self.delimiter, str) and len(self.delimiter) == 1
        if not one or "\ud800" <= self.delimiter <= "\udfff":
            raise OptionError(f"delimiter is {self.delimiter!r}; it must be one character")

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        pretokenize.split_by_character(text, self.delimiter, REMOVED)
