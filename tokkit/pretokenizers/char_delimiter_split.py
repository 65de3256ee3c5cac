"""Pretokenizer that splits at a delimiter and drops it."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.errors import OptionError
from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.pretokenizers.behaviors import REMOVED
from tokkit.unicode_regex.atoms import OTHER, CutRule, atoms_where, split_at


@dataclass(frozen=True, slots=True)
class CharDelimiterSplit(Pretokenizer):
    """Splits at each `delimiter`, which is one character, and drops it.

    >>> from tokkit._core.align import AlignedText
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

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("split_character", self.delimiter, REMOVED),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        must = atoms_where(lambda character: character == self.delimiter)
        may = must.copy()
        may[OTHER:] = self.delimiter > "\x7f"
        return [split_at(must, may, REMOVED)]
