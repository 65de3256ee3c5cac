"""Decoder for tokens that mark spaces with a visible character: "▁the" → " the"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.checks import check_flag
from tokkit.decoders.base import Decoder, check_character, replace_each
from tokkit.errors import OptionError

SCHEMES = ("always", "first", "never")


@dataclass(frozen=True, slots=True)
class Metaspace(Decoder):
    """Replaces each `replacement` with a space; in the first token it is dropped unless `prepend_scheme` is "never".

    >>> Metaspace().decode(["▁Hello", "▁wor", "ld"])
    'Hello world'
    """

    replacement: str = "▁"
    prepend_scheme: str = "always"
    split: bool = True

    def __post_init__(self) -> None:
        check_character("replacement", self.replacement)
        check_flag("split", self.split)
        if self.prepend_scheme not in SCHEMES:
            raise OptionError(f"prepend_scheme is {self.prepend_scheme!r}; it must be one of {', '.join(SCHEMES)}")

    @property
    def in_first(self) -> str:
        """The text for `replacement` in the first token."""
        return " " if self.prepend_scheme == "never" else ""

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens with their replacements replaced."""
        tokens = list(tokens)
        changed = replace_each(tokens, self.replacement, " ")
        if tokens:
            changed[0] = tokens[0].replace(self.replacement, self.in_first)
        return changed
