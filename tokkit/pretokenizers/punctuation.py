"""Pretokenizer that splits at punctuation."""

from __future__ import annotations

import string
from dataclasses import dataclass

from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.pretokenizers.behaviors import BEHAVIORS, behavior_named
from tokkit.unicode_regex.atoms import BLANK, LEADS, OTHER, CutRule, atoms_where, split_at


@dataclass(frozen=True, slots=True)
class Punctuation(Pretokenizer):
    """Splits at each punctuation character: ASCII punctuation and symbols, and category P of Unicode 8.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("ab..c,")
    >>> Punctuation().pretokenize(text)
    >>> text.pieces
    ['ab', '.', '.', 'c', ',']
    """

    behavior: str = "Isolated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "behavior", behavior_named(self.behavior))

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("split_kind", "punctuation", BEHAVIORS.index(self.behavior)),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        must = atoms_where(lambda character: character in string.punctuation)
        may = atoms_where(lambda character: character in string.punctuation, OTHER, BLANK, LEADS)
        return [split_at(must, may, BEHAVIORS.index(self.behavior))]
