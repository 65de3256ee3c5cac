"""A text in, numbers and what stands between them out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText
from tokkit.pretokenizers.behaviors import CONTIGUOUS, ISOLATED


@dataclass(frozen=True, slots=True)
class Digits:
    """Make runs of numbers (all of N) pieces, or with `individual_digits` each one by itself.

    >>> text = AlignedText("in 2026")
    >>> Digits().pretokenize(text)
    >>> text.pieces
    ['in ', '2026']
    """

    individual_digits: bool = False

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        pretokenize.split_by_kind(text, "number", ISOLATED if self.individual_digits else CONTIGUOUS)
