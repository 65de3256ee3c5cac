"""Normalizer that runs several normalizers in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tokkit._core.align import AlignedText
from tokkit.errors import OptionError
from tokkit.normalizers.base import Normalizer, Specs
from tokkit.unicode_regex.atoms import CutRule
from tokkit.unicode_regex.cost_limits import PatternTime


@dataclass(frozen=True, slots=True)
class Sequence(Normalizer):
    """Runs each normalizer on the result of the one before. Your own class needs a method `normalize(text)`.

    >>> from tokkit.normalizers.lowercase import Lowercase
    >>> from tokkit.normalizers.strip import Strip
    >>> Sequence([Strip(), Lowercase()]).normalize_str(" A ")
    'a'
    """

    normalizers: Iterable[Normalizer]

    def __post_init__(self) -> None:
        object.__setattr__(self, "normalizers", tuple(self.normalizers))
        for normalizer in self.normalizers:
            if not callable(getattr(normalizer, "normalize", None)) or isinstance(normalizer, type):
                raise OptionError(f"{normalizer!r} is not a normalizer: it has no method normalize(text)")

    def stages(self) -> Specs | None:
        """Return the specification for the core; None if the core cannot run all normalizers."""
        found: list[tuple[Any, ...]] = []
        for normalizer in self.normalizers:
            specs = normalizer.stages() if isinstance(normalizer, Normalizer) else None
            if specs is None:
                return None
            found += specs
        return tuple(found)

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        return [rule for normalizer in self.normalizers for rule in normalizer.cut_rules()]

    def normalize(self, text: AlignedText) -> None:
        """Run all normalizers."""
        with PatternTime(len(text.original)):
            for normalizer in self.normalizers:
                normalizer.normalize(text)
