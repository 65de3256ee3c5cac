"""Text in, the same without marks out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.normalizers.base import Normalizer


@dataclass(frozen=True, slots=True)
class StripAccents(Normalizer):
    r"""Drops marks: what is in the categories Mn, Mc and Me of Unicode 9.0, as tokenizers has it.

    It decomposes nothing: an NFD before it does.

    >>> StripAccents().normalize_str("e\u0301 é")
    'e é'
    """

    def normalize(self, text: AlignedText) -> None:
        """Drop the marks of each piece."""
        normalize.strip_accents(text)
