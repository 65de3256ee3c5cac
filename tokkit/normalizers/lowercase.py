"""Text in, lower case out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.normalizers.base import Normalizer


@dataclass(frozen=True, slots=True)
class Lowercase(Normalizer):
    """Turns each character into lower case by itself: Σ becomes σ at the end of a word too.

    Unicode 17.0, as tokenizers 0.23 has it.

    >>> Lowercase().normalize_str("ΟΔΟΣ, Straße")
    'οδοσ, straße'
    """

    def normalize(self, text: AlignedText) -> None:
        """Turn each piece into lower case."""
        normalize.lowercase(text)
