"""Normalizers to the Unicode forms C, D, KC and KD."""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np

from tokkit.normalizers.base import Normalizer, Specs
from tokkit.unicode_regex.atoms import BLANK, HAN, OTHER, WHITE, WHITES, CutRule, by_character

# ASCII and Chinese characters never compose with the character before, and no other character becomes white space.
_beyond = [HAN, OTHER, BLANK, *range(33, 128)]
_canonical = by_character(str, {OTHER: [OTHER, *b"K;`"], HAN: [HAN, OTHER]})
_compatible = by_character(str, {OTHER: _beyond, WHITE: WHITES, HAN: [HAN, OTHER]})
_COMPOSING = string.ascii_letters + "<=>"


def _composing(rule: CutRule) -> CutRule:
    """Return a rule for a form that composes: the first character of a part may become one with the marks after it."""
    first = np.array(rule.first)
    first[[ord(character) for character in _COMPOSING], OTHER] = True
    return rule._replace(first=first)


@dataclass(frozen=True, slots=True)
class NFC(Normalizer):
    """Form C: canonical composition; a character and its marks become one character if there is one.

    By Unicode 16.0; tokenizers 0.23 uses 9.0 and leaves newer characters unchanged (tests/normalizers/test_unicode.py).

    >>> len(NFC().normalize_str("e\N{COMBINING ACUTE ACCENT}"))
    1
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("form", "NFC"),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        return [_composing(_canonical)]


@dataclass(frozen=True, slots=True)
class NFD(Normalizer):
    """Form D: canonical decomposition, with marks in canonical order.

    >>> len(NFD().normalize_str("é"))
    2
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("form", "NFD"),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        return [_canonical]


@dataclass(frozen=True, slots=True)
class NFKC(Normalizer):
    """Form KC: compatibility decomposition (plain characters for styled ones), then composition.

    >>> NFKC().normalize_str("ﬁ Ⅻ ²")
    'fi XII 2'
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("form", "NFKC"),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        return [_composing(_compatible)]


@dataclass(frozen=True, slots=True)
class NFKD(Normalizer):
    """Form KD: compatibility decomposition (plain characters for styled ones).

    >>> len(NFKD().normalize_str("ﬁé"))
    4
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("form", "NFKD"),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        return [_compatible]
