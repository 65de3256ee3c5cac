"""Pretokenizer that splits at white space and drops it."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.pretokenizers.behaviors import REMOVED
from tokkit.unicode_regex.atoms import WHITE, CutRule, atoms_where, split_at


@dataclass(frozen=True, slots=True)
class WhitespaceSplit(Pretokenizer):
    r"""Splits at white space and drops it.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("Hi,  you!\n")
    >>> WhitespaceSplit().pretokenize(text)
    >>> text.pieces
    ['Hi,', 'you!']
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("split_kind", "white", REMOVED),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        must = atoms_where(lambda c: c.isspace() and c not in "\x1c\x1d\x1e\x1f", WHITE)
        return [split_at(must, must, REMOVED)]
