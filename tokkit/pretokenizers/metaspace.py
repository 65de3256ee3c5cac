"""SentencePiece's pretokenizer in tokenizer.json: words that begin with a visible space."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.errors import OptionError
from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.pretokenizers.behaviors import MERGED_WITH_NEXT
from tokkit.unicode_regex.atoms import (
    AT_START,
    BLANK,
    CutRule,
    atom,
    atoms_where,
    everywhere,
    images,
    nowhere,
    split_at,
)

SCHEMES = ("never", "always", "first")
"""The schemes, in the order of the numbers in csrc/split/pretokenize.h."""


@dataclass(frozen=True, slots=True)
class Metaspace(Pretokenizer):
    """Replaces each space with `replacement` (one character), and splits before each of them (`split`).

    `prepend_scheme` decides which pretokens that do not start with `replacement` get one: all ("always"), none
    ("never"), or those at the start of the original text ("first").

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("Hey friend")
    >>> Metaspace().pretokenize(text)
    >>> text.pieces
    ['▁Hey', '▁friend']
    """

    replacement: str = "▁"
    prepend_scheme: str = "always"
    split: bool = True

    def __post_init__(self) -> None:
        one = isinstance(self.replacement, str) and len(self.replacement) == 1
        if not one or "\ud800" <= self.replacement <= "\udfff":
            raise OptionError(f"replacement is {self.replacement!r}; it must be one character")
        if self.prepend_scheme not in SCHEMES:
            raise OptionError(f"prepend_scheme is {self.prepend_scheme!r}; it must be one of {', '.join(SCHEMES)}")

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        put = ("metaspace_first", self.replacement, SCHEMES.index(self.prepend_scheme))
        return (put, ("split_character", self.replacement, MERGED_WITH_NEXT)) if self.split else (put,)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        shown = images({32: [atom(self.replacement)]})
        edges = AT_START if self.prepend_scheme != "never" else 0
        must = atoms_where(lambda character: character == self.replacement)
        must[BLANK] = self.replacement == "\u2581"
        space = must | atoms_where(lambda character: character == " ")
        as_inside = (space if edges else None, None)
        kept = ~atoms_where(lambda character: character == " ")
        put = CutRule(everywhere(), nowhere(), shown, shown, edges, as_inside, kept)
        may = must.copy()
        may[atom(self.replacement)] = True
        return [put, split_at(must, may, MERGED_WITH_NEXT)] if self.split else [put]
