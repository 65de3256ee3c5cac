"""Postprocessor that runs several postprocessors in order."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.errors import OptionError
from tokkit.postprocessors.layout import Group, Postprocessor


@dataclass(frozen=True, slots=True)
class Sequence(Postprocessor):
    """Runs `processors` in order. Without any, texts follow one another with the type ids 0 and 1."""

    processors: tuple[Postprocessor, ...] = ()

    def __post_init__(self) -> None:
        given = self.processors
        if not isinstance(given, (tuple, list)) or not all(isinstance(one, Postprocessor) for one in given):
            raise OptionError(f"Sequence: processors is {given!r}; it must be a tuple of postprocessors")
        object.__setattr__(self, "processors", tuple(given))

    def n_added(self, *, pair: bool = False) -> int:
        """Return the sum of the tokens that each processor adds."""
        return sum(one.n_added(pair=pair) for one in self.processors)

    def arrange(self, groups: list[Group], *, add_special: bool) -> list[Group]:
        """Pass the groups from one processor to the next."""
        for one in self.processors:
            groups = one.arrange(groups, add_special=add_special)
        return groups
