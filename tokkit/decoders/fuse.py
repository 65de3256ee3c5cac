"""Decoder that joins all tokens to one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.decoders.base import Decoder


@dataclass(frozen=True, slots=True)
class Fuse(Decoder):
    """Joins the tokens, so that the decoders after it see the text as one token.

    >>> Fuse().decode_chain(["a", "b"])
    ['ab']
    """

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return one token."""
        return ["".join(tokens)]
