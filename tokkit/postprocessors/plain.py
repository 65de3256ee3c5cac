"""The postprocessor of tokenizers that have none: adds nothing, and puts the texts of a pair one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tokkit.postprocessors.layout import Group, Postprocessor


@dataclass(frozen=True, slots=True)
class Plain(Postprocessor):
    """Adds no tokens; the texts of a pair follow one another with the type ids 0 and 1.

    As in tokenizers, the encoding of a single text and its overflow then have no sequence ranges (tokens and padding
    count as text 0); with an empty `Sequence` they have.
    """

    def n_added(self, *, pair: bool = False) -> int:
        """Return 0."""
        return 0

    def arrange(self, groups: list[Group], *, add_special: bool) -> list[Group]:
        """Remove the sequence ranges of a single text; change nothing else."""
        return [replace(group, ranges=group.ranges if len(groups) > 1 else {}, overflow_ranges={}) for group in groups]
