"""Normalizer that removes combining marks."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.normalizers.base import Normalizer, Specs
from tokkit.unicode_regex.atoms import OTHER, CutRule, by_character


@dataclass(frozen=True, slots=True)
class StripAccents(Normalizer):
    r"""Drops combining marks: the categories Mn, Mc and Me of Unicode 9.0, as in tokenizers.

    It does not decompose characters; put NFD before it.

    >>> StripAccents().normalize_str("e\u0301 é")
    'e é'
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("strip_accents",),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        return [by_character(str, {OTHER: None})]
