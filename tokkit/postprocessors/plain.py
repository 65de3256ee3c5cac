"""The postprocessor of a tokenizer without one: a text as it is, the texts of a pair one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tokkit.postprocessors.layout import Group, Postprocessor


@dataclass(frozen=True, slots=True)
class Plain(Postprocessor):
    """Add nothing; the texts of a pair follow one another with the type ids 0 and 1.

    As in tokenizers, nothing says then which text the tokens of a single one are of (they count as 0, padding too),
    nor the parts that overflow; an empty `Sequence` does say.
    """

    def n_added(self, *, pair: bool = False) -> int:
        """Return 0."""
        return 0

    def arrange(self, groups: list[Group], *, add_special: bool) -> list[Group]:
        """Leave everything as it is, except what is said of whose the tokens are."""
        return [replace(group, ranges=group.ranges if len(groups) > 1 else {}, overflow_ranges={}) for group in groups]
