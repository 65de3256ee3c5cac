"""Postprocessor of byte-level tokens that trims spaces from offsets."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.postprocessors.layout import Group, Postprocessor, checked_bool


@dataclass(frozen=True, slots=True)
class ByteLevel(Postprocessor):
    """Excludes spaces from offsets if `trim_offsets` is set; `add_prefix_space` is the pretokenizer's option.

    `use_regex` is a field of tokenizer.json that has no effect here.
    """

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    def __post_init__(self) -> None:
        checked_bool(self, "add_prefix_space", "trim_offsets", "use_regex")

    def n_added(self, *, pair: bool = False) -> int:
        """Return 0."""
        return 0

    def arrange(self, groups: list[Group], *, add_special: bool) -> list[Group]:
        """Trim offsets, and renumber the groups."""
        if self.trim_offsets:
            groups = [group.trimmed(self.add_prefix_space) for group in groups]
        return [group.numbered(i) for i, group in enumerate(groups)]
