"""Normalizer that applies a SentencePiece model's precompiled_charsmap, as tokenizers does."""

from __future__ import annotations

import base64
import binascii
import functools
from dataclasses import dataclass, field

import numpy as np

from tokkit._core.charsmap import Charsmap, clusters
from tokkit.errors import OptionError
from tokkit.normalizers.base import Normalizer, Specs
from tokkit.normalizers.charsmap_builder import begins
from tokkit.unicode_regex.atoms import ATOM_RANGES, HAN, LEADS, OTHER, CutRule, by_character, never


@dataclass(frozen=True, slots=True)
class Precompiled(Normalizer):
    """Replaces text by the rules of a charsmap (base64 or bytes), as tokenizers does.

    Unlike sentencepiece, it works on grapheme clusters: a cluster that begins with a character of the map is replaced
    as a whole, including its marks. OptionError for an invalid map.
    """

    precompiled_charsmap: str
    _map: Charsmap = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given: object = self.precompiled_charsmap
        if not isinstance(given, (str, bytes)):
            raise OptionError(f"precompiled_charsmap is {type(given).__name__}; it must be text in base64, or bytes")
        try:
            data = base64.b64decode(given, validate=True) if isinstance(given, str) else given
            map_ = Charsmap(data)
        except (binascii.Error, ValueError) as error:
            raise OptionError(f"precompiled_charsmap cannot be read: {error}") from None
        text = given if isinstance(given, str) else base64.b64encode(given).decode("ascii")
        object.__setattr__(self, "precompiled_charsmap", text)
        object.__setattr__(self, "_map", map_)

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("charsmap", self._map),)

    def cut_rules(self) -> list[CutRule]:
        """Return where a text may be cut."""
        rule = by_character(
            lambda character: character if self._map.keeps(character) else "", dict.fromkeys(range(OTHER, HAN + 1))
        )
        rule.allowed[LEADS] = rule.allowed[13, 10] = rule.allowed[:, HAN] = False  # they may be in one cluster
        data = base64.b64decode(self.precompiled_charsmap)
        if any(begins(data, lead) for lead in _leads()):
            return [never()]  # a cluster whose last character is ASCII may be replaced
        first = np.array(rule.first)
        first[[code for code in range(128) if begins(data, chr(code))]] = True  # the marks after it are in its cluster
        return [rule._replace(first=first)]


@functools.cache
def _leads() -> tuple[str, ...]:
    """Return the characters that are in one grapheme cluster with a letter after them."""
    every = (chr(code) for first, last in ATOM_RANGES[LEADS] for code in range(first, last + 1))
    return tuple(lead for lead in every if len(clusters(f"{lead}a")) == 1)
