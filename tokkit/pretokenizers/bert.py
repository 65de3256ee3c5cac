"""BERT's pretokenizer: splits at white space, and isolates punctuation characters."""

from __future__ import annotations

import string
from dataclasses import dataclass

from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.unicode_regex.atoms import WHITE, CutRule, atoms_where, everywhere


@dataclass(frozen=True, slots=True)
class Bert(Pretokenizer):
    """Splits at white space and drops it; each punctuation character becomes a pretoken.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("Don't stop.")
    >>> Bert().pretokenize(text)
    >>> text.pieces
    ['Don', "'", 't', 'stop', '.']
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("split_bert",),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        # White space is dropped and each punctuation character is a pretoken, so both are pretoken boundaries.
        must = atoms_where(lambda c: (c.isspace() and c not in "\x1c\x1d\x1e\x1f") or c in string.punctuation, WHITE)
        return [CutRule(everywhere(), must[:, None] | must[None, :])]
