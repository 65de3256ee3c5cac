"""A text in, pieces of so many characters out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText
from tokkit.errors import OptionError


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Make each `length` characters a piece; the last one has what is left.

    >>> text = AlignedText("abcdefg")
    >>> FixedLength(3).pretokenize(text)
    >>> text.pieces
    ['abc', 'def', 'g']
    """

    length: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not isinstance(self.length, int) or not 1 <= self.length < 1 << 63:
            raise OptionError(f"length is {self.length!r}; it must be an int of at least 1")

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        pretokenize.split_fixed(text, self.length)
