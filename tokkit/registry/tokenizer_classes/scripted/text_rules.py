"""What tokenizer classes do with a text before SentencePiece: rules that run on each text between two added tokens."""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass

from tokkit.registry.tokenizer_classes.scripted.changed_text import ChangedText

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WHITE_SPACE = re.compile(r"\s+")
_PRINTS_NOTHING = frozenset(map(chr, (*range(9), *range(11, 32), *range(127, 160), 0xA0, 0xAD, 0x200B)))
_SPACES = frozenset(" \u2002\u2003\u2005\u2008\u2009\u200a\u202f\u3000\ufffc\x84")
_QUOTES = re.compile("``|''")


@dataclass(frozen=True, slots=True)
class WithoutPunctuation:
    """Removes ASCII punctuation, and makes one space of white space; U+2581 counts as a space."""

    lowers: bool

    def __call__(self, text: ChangedText) -> ChangedText:
        """Return the changed text."""
        if self.lowers:
            text = text.lowered()
        text = text.each(lambda character: character.translate(_PUNCTUATION))
        return text.replaced(_WHITE_SPACE, " ").stripped()


@dataclass(frozen=True, slots=True)
class Printed:
    """Removes characters that print nothing, makes spaces of wide and narrow ones, and composes (NFC)."""

    def __call__(self, text: ChangedText) -> ChangedText:
        """Return the changed text."""

        def kept(character: str) -> str:
            return "" if character in _PRINTS_NOTHING else " " if character in _SPACES else character

        return text.each(kept).composed()


@dataclass(frozen=True, slots=True)
class Joined:
    """Makes one space of white space, straight quotes of doubled ones, and removes accents, as the options say."""

    joins: bool
    keeps_accents: bool
    lowers: bool

    def __call__(self, text: ChangedText) -> ChangedText:
        """Return the changed text."""
        if self.joins:
            text = text.replaced(_WHITE_SPACE, " ").stripped()
        text = text.replaced(_QUOTES, '"')
        if not self.keeps_accents:
            text = text.each(_without_accents)
        return text.lowered() if self.lowers else text


def _without_accents(character: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c))
