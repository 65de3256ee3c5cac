"""Decoders of the tokenizer classes in Python: joined tokens with replacements, and tokens that stand for bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tokkit.decoders.base import Decoder


@dataclass(frozen=True, slots=True)
class Join(Decoder):
    """Joins tokens with `between`, replaces `old` in the text by `new`, and strips white space; `renamed` come first.

    >>> Join(" ", "@@ ", strips=True).decode(["hel@@", "lo", "world"])
    'hello world'
    """

    between: str = " "
    old: str = ""
    new: str = ""
    strips: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        text = self.between.join(self.renamed.get(token, token) for token in tokens)
        text = text.replace(self.old, self.new) if self.old else text
        return [text.strip() if self.strips else text]


@dataclass(frozen=True, slots=True)
class ByteCharacters(Decoder):
    """Turns tokens of one character up to U+00FF into bytes, and the bytes into text; other tokens are text.

    `errors` says what becomes of invalid UTF-8, as in bytes.decode.
    """

    errors: str = "replace"

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the text as one token."""
        parts = (bytes([ord(token)]) if len(token) == 1 and token <= "\xff" else token.encode() for token in tokens)
        return [b"".join(parts).decode("utf-8", self.errors)]
