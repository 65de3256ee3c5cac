"""Pretokenizer that splits at the matches of a pattern."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tokkit._core import split
from tokkit._core.align import AlignedText
from tokkit._core.encode.staged import Stages
from tokkit.errors import OptionError
from tokkit.pretokenizers.base import Pretokenizer, Specs
from tokkit.pretokenizers.behaviors import BEHAVIORS, behavior_named
from tokkit.pretokenizers.choice import Choice, choose
from tokkit.unicode_regex.atoms import CutRule
from tokkit.unicode_regex.boundaries import split_rule
from tokkit.unicode_regex.cost_limits import PatternTime
from tokkit.unicode_regex.matching import check_version, matches


class Pattern(NamedTuple):
    """A pattern: `kind` is "String", for a literal text, or "Regex", in the syntax of `regex`."""

    kind: str
    text: str

    @classmethod
    def of(cls, given: object) -> Pattern:
        """Make a pattern from tokenizer.json's {"String": text} or {"Regex": text}; a str is a "String"."""
        if isinstance(given, str):
            return cls("String", given)
        if isinstance(given, Pattern):
            given = {given.kind: given.text}
        if isinstance(given, Mapping) and len(given) == 1:
            ((kind, text),) = given.items()
            if kind in ("String", "Regex") and isinstance(text, str):
                return cls(kind, text)
        raise OptionError(f'pattern is {given!r}; it must be {{"String": text}} or {{"Regex": text}}')


@dataclass(frozen=True, slots=True)
class Split(Pretokenizer):
    r"""Splits at the matches of a pattern; `behavior` decides what happens to the matches.

    With `invert`, `behavior` applies to the text between the matches instead. A scanner, a compiled automaton or the
    `regex` package finds the matches: the first of these that can (choice.py). PatternError for an invalid pattern.

    >>> text = AlignedText("the-final--countdown")
    >>> Split({"String": "-"}, "MergedWithNext").pretokenize(text)
    >>> text.pieces
    ['the', '-final', '-', '-countdown']
    """

    pattern: Pattern
    behavior: str = "Isolated"
    invert: bool = False
    _chosen: Choice = field(init=False, repr=False, compare=False)

    def __init__(self, pattern: Pattern | Mapping[str, str] | str, behavior: str, invert: bool = False) -> None:
        made = Pattern.of(pattern)
        object.__setattr__(self, "pattern", made)
        object.__setattr__(self, "behavior", behavior_named(behavior))
        object.__setattr__(self, "invert", bool(invert))
        object.__setattr__(self, "_chosen", choose(self.expression, keep_unmatched=False))
        if self._chosen.split is None:
            check_version(self.expression)

    @property
    def expression(self) -> str:
        """The pattern in the syntax of `regex`."""
        return re.escape(self.pattern.text) if self.pattern.kind == "String" else self.pattern.text

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        if self._chosen.split is None:
            return None
        return (("split_pattern", self._chosen.split, BEHAVIORS.index(self.behavior), self.invert),)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        return [split_rule(self.expression, BEHAVIORS.index(self.behavior), invert=self.invert)]

    def pretokenize(self, text: AlignedText) -> None:
        """Split the pretokens of a text further."""
        if specs := self.stages():
            Stages(specs).run(text)
        else:
            behavior = BEHAVIORS.index(self.behavior)
            with PatternTime(len(text.original)):
                split.split_by_matches(text, lambda piece: matches(self.expression, piece), behavior, self.invert)

    def __reduce__(self) -> tuple[type[Split], tuple[object, ...]]:
        return Split, (self.pattern, self.behavior, self.invert)
