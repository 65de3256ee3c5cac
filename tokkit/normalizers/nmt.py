"""Normalizer with SentencePiece's "nmt" rules: drops control characters, and turns separators into spaces."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.normalizers.base import Normalizer, Specs
from tokkit.unicode_regex.atoms import BLANK, OTHER, WHITE, CutRule, by_character


@dataclass(frozen=True, slots=True)
class Nmt(Normalizer):
    r"""Drops control characters; tabs, line ends, joiners, U+2581, U+FEFF, U+FFFD and similar ones become spaces.

    >>> Nmt().normalize_str("a\tb\x07▁c")
    'a b c'
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("nmt",),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        return [by_character(_of_ascii, {OTHER: None, BLANK: [32], WHITE: [32, WHITE]})]


def _of_ascii(character: str) -> str:
    if character in "\t\n\f\r":
        return " "
    return "" if "\0" < character < " " or character == "\x7f" else character
