"""Normalizer that lowercases text."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.normalizers.base import Normalizer, Specs
from tokkit.unicode_regex.atoms import OTHER, CutRule, by_character


@dataclass(frozen=True, slots=True)
class Lowercase(Normalizer):
    """Lowercases each character on its own, without context: Σ becomes σ at the end of a word too.

    By Unicode 17.0, as in tokenizers 0.23.

    >>> Lowercase().normalize_str("ΟΔΟΣ, Straße")
    'οδοσ, straße'
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("lowercase",),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        letters = [*range(ord("a"), ord("z") + 1), OTHER]
        return [by_character(str.lower, {OTHER: letters})]
