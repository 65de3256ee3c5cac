"""The base class of all pretokenizers: its name in the core, and its cut rule."""

from __future__ import annotations

from typing import Any

from tokkit._core.align import AlignedText
from tokkit._core.encode import Stages
from tokkit.errors import OptionError
from tokkit.unicode_regex.atoms import CutRule, never

Specs = tuple[tuple[Any, ...], ...]
"""What the core runs for a component (`Stages`)."""


class Pretokenizer:
    """Cuts the pretokens of a text further. Immutable; its fields are those of tokenizer.json."""

    __slots__ = ()

    def stages(self) -> Specs | None:
        """Return what the core runs, None if `pretokenize` is all there is."""
        return None

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        return [never()]

    def pretokenize(self, text: AlignedText) -> None:
        """Cut the pretokens of a text further, except those that are added tokens."""
        specs = self.stages()
        if specs is None:
            raise OptionError(f"{type(self).__name__} has neither stages() nor pretokenize(text)")
        Stages(specs).run(text)
