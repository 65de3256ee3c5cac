"""Pretokenizer that splits between runs of different scripts."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.unicode_regex.atoms import CutRule, never


@dataclass(frozen=True, slots=True)
class UnicodeScripts(Pretokenizer):
    """Splits where the script changes; kana counts as Han. Scripts are by the Unicode version of tokenizers.

    Spaces and unassigned characters belong to the run before them; before the first run they are dropped.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("どこで go")
    >>> UnicodeScripts().pretokenize(text)
    >>> text.pieces
    ['どこで ', 'go']
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("split_scripts",),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        return [never()]  # a common character belongs to the run before it
