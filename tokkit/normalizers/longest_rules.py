"""Normalizer that applies a SentencePiece charsmap as sentencepiece does."""

from __future__ import annotations

from dataclasses import dataclass, field

from tokkit._core.charsmap import Charsmap
from tokkit.errors import OptionError
from tokkit.normalizers.base import Normalizer, Specs

MARKER = "\ufdd0"
"""First character of the markers in the steps that express the rules in a file: a Unicode noncharacter."""


@dataclass(frozen=True, slots=True)
class LongestRules(Normalizer):
    """Replaces, at each position, the longest text that has a rule in the charsmap (bytes).

    This is what sentencepiece does; `Precompiled` does what tokenizers does with the same map. In a tokenizer.json it
    is written as several steps (formats/charsmap_steps.py). OptionError for an invalid charsmap.

    >>> from tokkit.normalizers.charsmap_builder import compile_rules
    >>> LongestRules(compile_rules({"a": "A", "ab": "x"})).normalize_str("aabcb")
    'Axcb'
    """

    charsmap: bytes = field(repr=False)
    _map: Charsmap = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "_map", Charsmap(self.charsmap))
        except (TypeError, ValueError) as error:
            raise OptionError(f"charsmap cannot be read: {error}") from None

    def stages(self) -> Specs | None:
        """Return the core's specification."""
        return (("charsmap", self._map, True),)
