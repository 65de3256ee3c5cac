"""Normalizer that puts a prefix before the text."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.normalizers.base import Normalizer, Specs, check_text
from tokkit.unicode_regex.atoms import AT_START, CutRule, atoms_where, everywhere, nowhere


@dataclass(frozen=True, slots=True)
class Prepend(Normalizer):
    """Puts `prepend` before each non-empty part of the text; it is aligned with the first character.

    >>> Prepend("▁").normalize_str("the")
    '▁the'
    """

    prepend: str = "▁"

    def __post_init__(self) -> None:
        check_text("prepend", self.prepend)

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("prepend", self.prepend.encode()),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        none = atoms_where(lambda character: False)
        return [CutRule(everywhere(), nowhere(), edges=AT_START, as_inside=(none, None), kept=~none)]
