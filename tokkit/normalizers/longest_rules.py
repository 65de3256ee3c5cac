"""Normalizer that applies a SentencePiece charsmap as sentencepiece does."""

from __future__ import annotations

from dataclasses import dataclass, field

from tokkit._core.text import Charsmap
from tokkit.errors import OptionError
from tokkit.normalizers.base import Normalizer, Specs

MARKER = "\ufdd0"
"""What begins the markers of the steps that spell the rules out in a file: no character, in the sense of Unicode."""


@dataclass(frozen=True, slots=True)
class LongestRules(Normalizer):
    """Replaces, at each place, the longest text that the charsmap (bytes) has a rule for.

    This is what sentencepiece does; `Precompiled` is what tokenizers does with the same map. A tokenizer.json has it as
    several steps (formats/charsmap_steps.py). OptionError for an invalid charsmap.

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
