"""BERT's postprocessor: [CLS] A [SEP], or [CLS] A [SEP] B [SEP]."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.postprocessors.layout import Added, Group, Postprocessor, checked_token


@dataclass(frozen=True, slots=True)
class Bert(Postprocessor):
    """Adds `cls` before the first text and `sep` after each, both (token, id); the second text has the type id 1.

    >>> Bert(sep=("[SEP]", 102), cls=("[CLS]", 101)).n_added(pair=True)
    3
    """

    sep: tuple[str, int]
    cls: tuple[str, int]

    def __post_init__(self) -> None:
        for name in ("sep", "cls"):
            object.__setattr__(self, name, checked_token("Bert", name, getattr(self, name)))

    def n_added(self, *, pair: bool = False) -> int:
        """Return 2, or 3 for a pair."""
        return 3 if pair else 2

    def arrange(self, groups: list[Group], *, add_special: bool) -> list[Group]:
        """Put the tokens around the groups."""
        if not add_special:
            return groups
        cls, sep = Added.one(self.cls), Added.one(self.sep)
        first, *others = groups
        return [
            first.between((cls,), (sep,), 0),
            *(group.between((), (Added.one(self.sep, 1),), 1) for group in others),
        ]
