"""Text in, the same behind a prefix out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.normalizers.base import Normalizer, check_text


@dataclass(frozen=True, slots=True)
class Prepend(Normalizer):
    """Puts `prepend` before each piece that is not empty; it comes from where the first character comes from.

    >>> Prepend("▁").normalize_str("the")
    '▁the'
    """

    prepend: str = "▁"

    def __post_init__(self) -> None:
        check_text("prepend", self.prepend)

    def normalize(self, text: AlignedText) -> None:
        """Put the prefix before each piece."""
        normalize.prepend(text, self.prepend.encode())
