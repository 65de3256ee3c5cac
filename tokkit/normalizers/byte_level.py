"""Text in, the symbols of its bytes out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.normalizers.base import Normalizer


@dataclass(frozen=True, slots=True)
class ByteLevel(Normalizer):
    """Puts a printable character in the place of each byte of the text's UTF-8, as byte-level vocabularies spell it.

    >>> ByteLevel().normalize_str("a é")
    'aĠÃ©'
    """

    def normalize(self, text: AlignedText) -> None:
        """Spell the bytes of each piece."""
        normalize.byte_level(text)
