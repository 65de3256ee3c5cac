"""Text in, the same without controls, its separators spaces, out: the rules of sentencepiece's "nmt" models."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.normalizers.base import Normalizer


@dataclass(frozen=True, slots=True)
class Nmt(Normalizer):
    r"""Drops controls; tabs, line ends, joiners, U+2581, U+FEFF, U+FFFD and the like become spaces.

    >>> Nmt().normalize_str("a\tb\x07▁c")
    'a b c'
    """

    def normalize(self, text: AlignedText) -> None:
        """Clean each piece."""
        normalize.nmt(text)
