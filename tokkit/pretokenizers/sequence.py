"""A text in, the pieces of several pretokenizers in turn out."""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Protocol

from tokkit._core.aligned import AlignedText
from tokkit.errors import OptionError


class Pretokenizer(Protocol):
    """What cuts the pieces of a text further."""

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """Run each pretokenizer on the pieces that the one before made.

    >>> from tokkit.pretokenizers.digits import Digits
    >>> from tokkit.pretokenizers.whitespace_split import WhitespaceSplit
    >>> text = AlignedText("room 12b")
    >>> Sequence([WhitespaceSplit(), Digits()]).pretokenize(text)
    >>> text.pieces
    ['room', '12', 'b']
    """

    pretokenizers: Items[Pretokenizer] = ()

    def __post_init__(self) -> None:
        parts = tuple(self.pretokenizers)
        for part in parts:
            if not callable(getattr(part, "pretokenize", None)):
                raise OptionError(f"{part!r} is no pretokenizer: it has no method pretokenize(text)")
        object.__setattr__(self, "pretokenizers", parts)

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pieces of a text further."""
        for part in self.pretokenizers:
            part.pretokenize(text)
