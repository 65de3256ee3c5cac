"""Decoder for a tokenizer.json without one: tokens separated by spaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.decoders.base import Decoder


@dataclass(frozen=True, slots=True)
class Spaced(Decoder):
    """Puts a space before each token but the first.

    >>> Spaced().decode(["a", "b"])
    'a b'
    """

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens, with spaces."""
        tokens = list(tokens)
        return tokens[:1] + [" " + token for token in tokens[1:]]
