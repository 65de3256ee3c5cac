"""Normalizer that replaces each match of a pattern."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from tokkit._core import align
from tokkit._core.align import AlignedText
from tokkit._core.encode.staged import Stages
from tokkit.normalizers.base import Normalizer, Specs, check_text
from tokkit.unicode_regex.atoms import N_ATOMS, OTHER, CutRule, atom, everywhere, images, never, nowhere
from tokkit.unicode_regex.boundaries import chosen, pattern_boundaries
from tokkit.unicode_regex.cost_limits import PatternTime
from tokkit.unicode_regex.matching import checked_pattern, matches

# Patterns of literal characters, optionally repeated or with a look-ahead, which need no automaton.
_ITSELF = r"(?:\\[!-/:-@\[-`{-~]|[^\\\[\](){}|*+?.^$])"
_RUN = re.compile(rf"({_ITSELF})(?:\+|\{{([1-9]\d{{0,3}}),\}})", re.DOTALL)
_BEFORE = re.compile(rf"({_ITSELF}+)\(\?=({_ITSELF}+)\)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class _Literal(NamedTuple):
    """A literal text, only where `ahead` follows; with `minimum` > 0, runs of at least `minimum` repeats of it."""

    text: str
    ahead: str = ""
    minimum: int = 0


@dataclass(frozen=True, slots=True)
class Replace(Normalizer):
    """Replaces each match of `pattern`, {"String": text} or {"Regex": pattern}, with `content`, taken literally.

    A pattern has the syntax of the `regex` package; one of a tokenizer.json has a mark (unicode_regex/dialects.py). The
    replacement is aligned with the last character of the match.

    >>> Replace({"Regex": " {2,}"}, "▁").normalize_str("a  b c")
    'a▁b c'
    """

    pattern: Mapping[str, str] = field(hash=False)
    content: str

    def __post_init__(self) -> None:
        check_text("content", self.content)
        object.__setattr__(self, "pattern", checked_pattern(self.pattern))

    def stages(self) -> Specs | None:
        """Return the core's specification; None for a pattern that is not regular."""
        content, pattern = self.content.encode(), self.pattern.get("Regex", "")
        if found := self._literal():
            text, ahead = found.text.encode(), found.ahead.encode()
            return (("replace", text + ahead, content, found.minimum, len(ahead)),)
        choice = chosen(pattern)
        return (("replace_pattern", choice, content),) if choice is not None else None

    def _literal(self) -> _Literal | None:
        """Return the literal text of the pattern, None if it needs an automaton."""
        pattern = self.pattern.get("Regex", "")
        if text := self.pattern.get("String"):
            return _Literal(text)
        if run := _RUN.fullmatch(pattern):
            return _Literal(run[1][-1], minimum=int(run[2] or 1))
        if before := _BEFORE.fullmatch(pattern):
            return _Literal(_ESCAPED.sub(r"\1", before[1]), _ESCAPED.sub(r"\1", before[2]))
        return None

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut: between two characters that are never both in one match."""
        ends = [atom(self.content[-1])] if self.content else None
        starts = [atom(self.content[0])] if self.content else None
        if found := self._literal():
            text = 2 * found.text if found.minimum else found.text + found.ahead
            allowed = everywhere()
            for left, right in itertools.pairwise(map(atom, text)):
                allowed[left, right] = False
            last, first = atom(found.text[-1]), atom(found.text[0])
            alone = len(text) == 1 and last < OTHER
            kept = np.ones(N_ATOMS, dtype=np.bool_)
            kept[[atom(character) for character in text]] = False
            return [
                CutRule(
                    allowed,
                    nowhere(),
                    images({last: ends and ([] if alone else [last]) + ends}),
                    images({first: starts and ([] if alone else [first]) + starts}),
                    kept=kept,
                )
            ]
        rule = pattern_boundaries(self.pattern.get("Regex", ""))
        if rule is None:
            return [never()]
        last_of = {code: ends and [code, *ends] for code in np.flatnonzero(rule.may).tolist()}
        first_of = {code: starts and [code, *starts] for code in np.flatnonzero(rule.may).tolist()}
        return [CutRule(rule.splittable, nowhere(), images(last_of), images(first_of))]

    def normalize(self, text: AlignedText) -> None:
        """Replace the matches in each part; PatternError if finding them takes too long."""
        if specs := self.stages():
            Stages(specs).run(text)
        else:
            find = partial(matches, self.pattern.get("Regex", ""))
            with PatternTime(len(text.original)):
                align.replace_matches(text, find, self.content.encode())
