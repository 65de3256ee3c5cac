"""Text in, the same without white space at its ends out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.normalizers.base import Normalizer, check_flag


@dataclass(frozen=True, slots=True)
class Strip(Normalizer):
    """Cuts white space (White_Space of Unicode) from either end of each piece.

    >>> Strip(strip_left=False).normalize_str("  a b  ")
    '  a b'
    """

    strip_left: bool = True
    strip_right: bool = True

    def __post_init__(self) -> None:
        check_flag("strip_left", self.strip_left)
        check_flag("strip_right", self.strip_right)

    def normalize(self, text: AlignedText) -> None:
        """Cut the ends of each piece."""
        normalize.strip(text, left=self.strip_left, right=self.strip_right)
