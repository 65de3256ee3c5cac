"""Normalizers in, one normalizer out that runs them in turn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokkit._core.aligned import AlignedText
from tokkit.errors import OptionError
from tokkit.normalizers.base import Normalizer


@dataclass(frozen=True, slots=True)
class Sequence(Normalizer):
    """Gives each normalizer the text that the one before it made. One of your own needs `normalize(text)`.

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
                raise OptionError(f"normalizers have a method normalize(text); {normalizer!r} has none")

    def normalize(self, text: AlignedText) -> None:
        """Run all of them."""
        for normalizer in self.normalizers:
            normalizer.normalize(text)
