"""Decoder for the output of speech models (CTC), one token per frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from tokkit.checks import check_flag
from tokkit.decoders.base import Decoder, check_text
from tokkit.decoders.wordpiece import clean


@dataclass(frozen=True, slots=True)
class CTC(Decoder):
    """Merges repeated tokens, removes the pad token, and replaces the word delimiter with a space.

    >>> CTC().decode(["h", "h", "e", "l", "<pad>", "l", "o", "o", "|", "y", "o", "<pad>"])
    'hello yo'
    """

    pad_token: str = "<pad>"
    word_delimiter_token: str = "|"
    cleanup: bool = True

    def __post_init__(self) -> None:
        check_text("pad_token", self.pad_token)
        check_text("word_delimiter_token", self.word_delimiter_token)
        check_flag("cleanup", self.cleanup)

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the remaining tokens, none of them empty; without `cleanup` delimiters stay."""
        return [text for token, _ in groupby(tokens) if (text := self.text_of(token))]

    def text_of(self, token: str) -> str:
        """Return a token without pads, and with `cleanup` cleaned up and with spaces."""
        # An empty pad or delimiter matches between all characters, in Python as in tokenizers.
        token = token.replace(self.pad_token, "")
        return clean(token).replace(self.word_delimiter_token, " ") if self.cleanup else token
