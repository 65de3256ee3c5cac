"""RoBERTa's postprocessor: <s> A </s>, or <s> A </s> </s> B </s>."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.postprocessors.layout import Added, Group, Postprocessor, checked_bool, checked_token


@dataclass(frozen=True, slots=True)
class Roberta(Postprocessor):
    """Adds `cls` before the first text, `sep` before the second, and `sep` after each; all type ids are 0.

    With `trim_offsets`, offsets do not include the spaces of byte-level tokens; `add_prefix_space` is the
    pretokenizer's option. Without special tokens, the overflow keeps the type ids of its texts, as in tokenizers.
    """

    sep: tuple[str, int]
    cls: tuple[str, int]
    trim_offsets: bool = True
    add_prefix_space: bool = True

    def __post_init__(self) -> None:
        for name in ("sep", "cls"):
            object.__setattr__(self, name, checked_token("Roberta", name, getattr(self, name)))
        checked_bool(self, "trim_offsets", "add_prefix_space")

    def n_added(self, *, pair: bool = False) -> int:
        """Return 2, or 4 for a pair."""
        return 4 if pair else 2

    def arrange(self, groups: list[Group], *, add_special: bool) -> list[Group]:
        """Trim offsets, set all type ids to 0, and put the tokens around the groups."""
        if self.trim_offsets:
            groups = [group.trimmed(self.add_prefix_space) for group in groups]
        groups = [group.typed(0, overflow=add_special) for group in groups]
        if not add_special:
            return groups
        cls, sep = Added.one(self.cls), Added.one(self.sep)
        first, *others = groups
        return [first.between((cls,), (sep,), 0), *(group.between((sep,), (sep,), 1) for group in others)]
