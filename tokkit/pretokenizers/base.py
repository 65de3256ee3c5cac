"""The base class of all pretokenizers: its name in the core, and its cut rule."""

from __future__ import annotations

from typing import Any

from tokkit._core.align import AlignedText
from tokkit._core.encode import Stages
from tokkit.errors import OptionError
from tokkit.unicode_regex.atoms import CutRule, never

Specs = tuple[tuple[Any, ...], ...]
"""The core's specification of a component (for `Stages`)."""


class Pretokenizer:
    """Splits the pretokens of a text further. Immutable; its fields are those of tokenizer.json."""

    __slots__ = ()

    def stages(self) -> Specs | None:
        """Return the core's specification, None if there is only `pretokenize`."""
        return None

    def cut_rules(self) -> list[CutRule]:
        """Return where the text before each of `stages` may be cut."""
        return [never()]

    def pretokenize(self, text: AlignedText) -> None:
        """Split the pretokens of a text further, except added tokens."""
        specs = self.stages()
        if specs is None:
            raise OptionError(f"{type(self).__name__} has neither stages() nor pretokenize(text)")
        Stages(specs).run(text)
