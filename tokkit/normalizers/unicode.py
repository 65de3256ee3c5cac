"""Text in, its Unicode normalization form C, D, KC or KD out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.normalizers.base import Normalizer


@dataclass(frozen=True, slots=True)
class NFC(Normalizer):
    """Composes: characters that have one of their own for them and their marks.

    Unicode 16.0; tokenizers 0.23 has 9.0 and leaves alone what came later (tests/normalizers/test_unicode.py).

    >>> len(NFC().normalize_str("e\N{COMBINING ACUTE ACCENT}"))
    1
    """

    def normalize(self, text: AlignedText) -> None:
        """Bring each piece into the form."""
        normalize.form(text, "NFC")


@dataclass(frozen=True, slots=True)
class NFD(Normalizer):
    """Decomposes, and puts marks in canonical order.

    >>> len(NFD().normalize_str("é"))
    2
    """

    def normalize(self, text: AlignedText) -> None:
        """Bring each piece into the form."""
        normalize.form(text, "NFD")


@dataclass(frozen=True, slots=True)
class NFKC(Normalizer):
    """Puts plain characters for those that only look or stand otherwise, and composes.

    >>> NFKC().normalize_str("ﬁ Ⅻ ²")
    'fi XII 2'
    """

    def normalize(self, text: AlignedText) -> None:
        """Bring each piece into the form."""
        normalize.form(text, "NFKC")


@dataclass(frozen=True, slots=True)
class NFKD(Normalizer):
    """Puts plain characters for those that only look or stand otherwise, and decomposes.

    >>> len(NFKD().normalize_str("ﬁé"))
    4
    """

    def normalize(self, text: AlignedText) -> None:
        """Bring each piece into the form."""
        normalize.form(text, "NFKD")
