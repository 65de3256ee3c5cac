"""Decoder that joins byte tokens to characters: <0xE6><0x9D><0xB1> → 東."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.decoders.base import Decoder

# tokenizers parses the digits as a number, which may have a plus sign.
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")


def byte_of(token: str) -> int | None:
    """Return the byte that a token stands for, or None.

    >>> byte_of("<0x0a>"), byte_of("<0xA>")
    (10, None)
    """
    match = _BYTE.fullmatch(token)
    return int(match[1], 16) if match else None


def text_of(run: bytes | bytearray) -> list[str]:
    """Return a run of bytes as one token, or as one U+FFFD per byte if the run is invalid UTF-8."""
    try:
        return [run.decode("utf-8")]
    except UnicodeDecodeError:
        return ["\ufffd"] * len(run)


@dataclass(frozen=True, slots=True)
class ByteFallback(Decoder):
    """Decodes each run of byte tokens as UTF-8; a run with any invalid byte becomes U+FFFD throughout.

    >>> ByteFallback().decode(["a", "<0xE6>", "<0x9D>", "<0xB1>", "b", "<0xE6>", "<0x41>"])
    'a東b��'
    """

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens, with each run of bytes as one token or as one U+FFFD per byte."""
        tokens = tokens if isinstance(tokens, list) else list(tokens)
        if not any(token.startswith("<0x") for token in tokens):
            return tokens
        out: list[str] = []
        run = bytearray()
        for token in tokens:
            byte = byte_of(token) if token.startswith("<0x") else None
            if byte is not None:
                run.append(byte)
                continue
            if run:
                out += text_of(run)
                run.clear()
            out.append(token)
        return out + text_of(run) if run else out
