"""Pretokenizer that runs several pretokenizers in order."""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Any

from tokkit._core.align import AlignedText
from tokkit.errors import OptionError
from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.unicode_regex.atoms import CutRule
from tokkit.unicode_regex.cost_limits import PatternTime


@dataclass(frozen=True, slots=True)
class Sequence(Pretokenizer):
    """Runs each pretokenizer on the pretokens of the one before.

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
                raise OptionError(f"{part!r} is not a pretokenizer: it has no method pretokenize(text)")
        object.__setattr__(self, "pretokenizers", parts)

    def stages(self) -> Specs | None:
        """Return the specification for the core; None if the core cannot run all pretokenizers."""
        found: list[tuple[Any, ...]] = []
        for part in self.pretokenizers:
            specs = part.stages() if isinstance(part, Pretokenizer) else None
            if specs is None:
                return None
            found += specs
        return tuple(found)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        return [rule for part in self.pretokenizers for rule in part.cut_rules()]

    def pretokenize(self, text: AlignedText) -> None:
        """Split the pretokens of a text further."""
        with PatternTime(len(text.original)):
            for part in self.pretokenizers:
                part.pretokenize(text)
