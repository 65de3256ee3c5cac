"""Normalizer that strips white space from the ends of a text."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.checks import check_flag
from tokkit.normalizers.base import Normalizer, Specs
from tokkit.unicode_regex.atoms import AT_END, AT_START, WHITES, CutRule, everywhere, nowhere


@dataclass(frozen=True, slots=True)
class Strip(Normalizer):
    """Removes white space (Unicode White_Space) from either end of each part of the text.

    >>> Strip(strip_left=False).normalize_str("  a b  ")
    '  a b'
    """

    strip_left: bool = True
    strip_right: bool = True

    def __post_init__(self) -> None:
        check_flag("strip_left", self.strip_left)
        check_flag("strip_right", self.strip_right)

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("strip", self.strip_left, self.strip_right),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        allowed = everywhere()
        allowed[WHITES] = False  # the white space at an end of the text must stay in one part
        kept = allowed[:, 0]
        as_inside = (kept if self.strip_left else None, kept if self.strip_right else None)
        edges = AT_START * self.strip_left | AT_END * self.strip_right
        return [CutRule(allowed, nowhere(), edges=edges, as_inside=as_inside)]
