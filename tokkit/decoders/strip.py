"""Decoder that strips a character from the ends of each token."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.decoders.base import Decoder, check_character
from tokkit.errors import OptionError


@dataclass(frozen=True, slots=True)
class Strip(Decoder):
    """Strips up to `start` times `content` from the left end of each token, then up to `stop` times from the right.

    If both ends need the same character, or a token is shorter than `stop`, tokenizers 0.23 panics; here the token
    becomes empty.

    >>> Strip(start=1).decode_chain(["  a", "b"])
    [' a', 'b']
    """

    content: str = " "
    start: int = 0
    stop: int = 0

    def __post_init__(self) -> None:
        check_character("content", self.content)
        for name in ("start", "stop"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise OptionError(f"{name} is {value!r}; it must be a count of characters")

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens without the characters."""
        return [self.strip(token) for token in tokens]

    def strip(self, token: str) -> str:
        """Return one token without the characters."""
        left = min(self.start, len(token) - len(token.lstrip(self.content))) if self.start else 0
        token = token[left:]
        right = min(self.stop, len(token) - len(token.rstrip(self.content))) if self.stop else 0
        return token[: len(token) - right]
