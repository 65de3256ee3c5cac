"""Normalizer that writes the bytes of a text in GPT-2's byte alphabet."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.normalizers.base import Normalizer, Specs
from tokkit.unicode_regex.atoms import BLANK, HAN, LEADS, OTHER, WHITE, CutRule, by_character


@dataclass(frozen=True, slots=True)
class ByteLevel(Normalizer):
    """Replaces each byte of the text's UTF-8 by a printable character, as byte-level vocabularies do.

    >>> ByteLevel().normalize_str("a é")
    'aĠÃ©'
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("byte_level",),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        return [by_character(_symbol, {HAN: [OTHER], **{key: [OTHER] for key in (WHITE, BLANK, LEADS)}})]


def _symbol(character: str) -> str:
    return character if "!" <= character <= "~" else "\u0100"
