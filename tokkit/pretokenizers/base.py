"""The base class of all pretokenizers."""

from __future__ import annotations

from typing import Any

from tokkit._core.align import AlignedText
from tokkit._core.encode.staged import Stages
from tokkit.errors import OptionError
from tokkit.unicode_regex.atoms import CutRule, never

Specs = tuple[tuple[Any, ...], ...]
"""The core's specification of a component (for `Stages`)."""


class Pretokenizer:
    """A rule that splits the pretokens of a text further. Immutable; its fields are those of tokenizer.json."""

    __slots__ = ()

    def stages(self) -> Specs | None:
        """Return the specification for the core, None if the component only has `pretokenize`."""
        return None

    def cut_rules(self) -> list[CutRule]:
        """Return the cut rule of each of `stages`: where the text before it may be cut."""
        return [never()]

    def pretokenize(self, text: AlignedText) -> None:
        """Split the pretokens of a text further, except added tokens."""
        specs = self.stages()
        if specs is None:
            raise OptionError(f"{type(self).__name__} has neither stages() nor pretokenize(text)")
        Stages(specs).run(text)
