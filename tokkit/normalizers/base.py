"""The base class of all normalizers."""

from __future__ import annotations

from typing import Any

from tokkit._core.align import AlignedText
from tokkit._core.encode.staged import Stages
from tokkit.errors import OptionError
from tokkit.unicode_regex.atoms import CutRule, never

Specs = tuple[tuple[Any, ...], ...]
"""The core's specification of a component (for `Stages`)."""


class Normalizer:
    """A rule that changes text. Immutable; its fields are those of tokenizer.json."""

    __slots__ = ()

    def stages(self) -> Specs | None:
        """Return the specification for the core, None if the component only has `normalize`."""
        return None

    def cut_rules(self) -> list[CutRule]:
        """Return the cut rule of each of `stages`: where the text before it may be cut."""
        return [never()]

    def normalize(self, text: AlignedText) -> None:
        """Normalize each part of `text` separately and in place, except added tokens."""
        specs = self.stages()
        if specs is None:
            raise OptionError(f"{type(self).__name__} has neither stages() nor normalize(text)")
        Stages(specs).run(text)

    def normalize_str(self, text: str) -> str:
        """Return a str normalized, as a text of one part."""
        aligned = AlignedText(text)
        self.normalize(aligned)
        return "".join(aligned.pieces)


def check_text(name: str, value: object) -> None:
    """Raise OptionError if a field is not text that UTF-8 can hold."""
    if not isinstance(value, str):
        raise OptionError(f"{name} is {value!r}; it must be text")
    if any(0xD800 <= ord(c) < 0xE000 for c in value):
        raise OptionError(f"{name} is {value!r}: a lone surrogate is not text")
