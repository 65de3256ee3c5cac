r"""Pretokenizer that finds words and runs of punctuation: \w+|[^\w\s]+."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.unicode_regex.atoms import HAN, LEADS, OTHER, WHITE, CutRule, atoms_where


@dataclass(frozen=True, slots=True)
class Whitespace(Pretokenizer):
    r"""Drops white space; runs of \w and runs of other characters become pretokens.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("Hi, you!?")
    >>> Whitespace().pretokenize(text)
    >>> text.pieces
    ['Hi', ',', 'you', '!?']
    """

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("split_words",),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        white = atoms_where(lambda c: c.isspace() and c not in "\x1c\x1d\x1e\x1f", WHITE)
        word = atoms_where(lambda c: c.isalnum() or c == "_", HAN)
        other = ~(white | word)
        other[[OTHER, LEADS]] = False
        ends = white[:, None] | white[None, :] | (word[:, None] & other[None, :]) | (other[:, None] & word[None, :])
        return [CutRule(ends, ends)]
