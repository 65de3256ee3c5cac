"""BERT's normalizer: cleans text, spaces Chinese characters, removes accents, lowercases."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.checks import check_flag
from tokkit.normalizers.base import Normalizer, Specs
from tokkit.unicode_regex.atoms import HAN, LEADS, OTHER, WHITE, CutRule, by_character


@dataclass(frozen=True, slots=True)
class Bert(Normalizer):
    r"""BERT's normalizations, in this order.

    `clean_text` drops control and format characters, U+0000 and U+FFFD, and turns white space into spaces.
    `handle_chinese_chars` puts a space on either side of Chinese characters. `strip_accents` (None: same as
    `lowercase`) decomposes characters and drops combining marks. `lowercase` lowercases each character.

    >>> Bert().normalize_str("Où\tsommes-nous? 中国")
    'ou sommes-nous?  中  国 '
    """

    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool | None = None
    lowercase: bool = True

    def __post_init__(self) -> None:
        for name in ("clean_text", "handle_chinese_chars", "lowercase"):
            check_flag(name, getattr(self, name))
        if self.strip_accents is not None:
            check_flag("strip_accents", self.strip_accents)

    @property
    def strips_accents(self) -> bool:
        """Whether marks are dropped: `strip_accents`, or `lowercase` if that is None."""
        return self.lowercase if self.strip_accents is None else self.strip_accents

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("bert", self.clean_text, self.handle_chinese_chars, self.strips_accents, self.lowercase),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        chinese = {HAN: [32]} if self.handle_chinese_chars else {}
        return [by_character(self._of_ascii, {OTHER: None, WHITE: None, LEADS: None, **chinese})]

    def _of_ascii(self, character: str) -> str:
        if self.clean_text and (character < " " or character == "\x7f"):
            return " " if character in "\t\n\r" else ""
        return character.lower() if self.lowercase else character
