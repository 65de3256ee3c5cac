"""Decoder for tokens with an end-of-word suffix: words separated by spaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.decoders.base import Decoder, check_text, replace_each


@dataclass(frozen=True, slots=True)
class BPE(Decoder):
    """Replaces each `suffix` with a space; in the last token, it is removed.

    >>> BPE().decode(["hel", "lo</w>", "world</w>"])
    'hello world'
    """

    suffix: str = "</w>"

    def __post_init__(self) -> None:
        check_text("suffix", self.suffix)

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens with their suffixes replaced."""
        tokens = list(tokens)
        changed = replace_each(tokens[:-1], self.suffix, " ")
        return changed + [token.replace(self.suffix, "") for token in tokens[-1:]]
