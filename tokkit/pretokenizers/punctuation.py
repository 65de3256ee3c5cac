"""A text in, punctuation and what stands between it out."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import pretokenize
from tokkit._core.aligned import AlignedText
from tokkit.pretokenizers.behaviors import BEHAVIORS, behavior_named


@dataclass(frozen=True, slots=True)
class Punctuation:
    """Cut at each punctuation character: those of ASCII, its symbols among them, and P of Unicode 8.

    >>> text = AlignedText("ab..c,")
    >>> Punctuation().pretokenize(text)
    >>> text.pieces
    ['ab', '.', '.', 'c', ',']
    """

    behavior: str = "Isolated"

    def __post_init__(self) -> None:
        object.__setattr__(self, "behavior", behavior_named(self.behavior))

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        pretokenize.split_by_kind(text, "punctuation", BEHAVIORS.index(self.behavior))
