"""Pretokenizer that splits text into pretokens of a fixed number of characters."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.errors import OptionError
from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.unicode_regex.atoms import CutRule, never


@dataclass(frozen=True, slots=True)
class FixedLength(Pretokenizer):
    """Makes pretokens of `length` characters; the last one has the rest.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("abcdefg")
    >>> FixedLength(3).pretokenize(text)
    >>> text.pieces
    ['abc', 'def', 'g']
    """

    length: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not isinstance(self.length, int) or not 1 <= self.length < 1 << 63:
            raise OptionError(f"length is {self.length!r}; it must be an int of at least 1")

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("split_fixed", self.length),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        return [never()]
