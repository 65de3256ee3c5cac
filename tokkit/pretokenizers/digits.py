"""Pretokenizer that isolates numbers, or single digits."""

from __future__ import annotations

import string
from dataclasses import dataclass

from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.pretokenizers.behaviors import CONTIGUOUS, ISOLATED
from tokkit.unicode_regex.atoms import HAN, LEADS, OTHER, CutRule, atoms_where, split_at


@dataclass(frozen=True, slots=True)
class Digits(Pretokenizer):
    """Makes runs of numbers (Unicode category N) pretokens, or with `individual_digits` each digit.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("in 2026")
    >>> Digits().pretokenize(text)
    >>> text.pieces
    ['in ', '2026']
    """

    individual_digits: bool = False

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("split_kind", "number", ISOLATED if self.individual_digits else CONTIGUOUS),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        must = atoms_where(lambda character: character in string.digits)
        may = atoms_where(lambda character: character in string.digits, OTHER, LEADS, HAN)
        return [split_at(must, may, ISOLATED if self.individual_digits else CONTIGUOUS)]
