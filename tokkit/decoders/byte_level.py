"""Decoder for tokens in GPT-2's byte alphabet: "Ġthe" → " the"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokkit.byte_symbols import byte_symbols
from tokkit.checks import check_flag
from tokkit.decoders.base import Decoder

# Code point of a byte's symbol → code point of the byte's Latin-1 character. Code points that are not symbols map to
# some outside of Latin-1, so that encoding fails; else a soft hyphen, for example, would count as the byte 0xAD.
_BYTES = dict.fromkeys(range(256), 0xFFFF) | {ord(symbol): byte for byte, symbol in byte_symbols().items()}


def bytes_of(token: str) -> bytes:
    """Return the bytes of a token: those of its symbols or, if a character is not a symbol, its UTF-8.

    >>> bytes_of("ĠÃ©").decode(), bytes_of("a b").decode()
    (' é', 'a b')
    """
    try:
        return token.translate(_BYTES).encode("latin-1")
    except UnicodeEncodeError:
        return token.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class ByteLevel(Decoder):
    """Joins the bytes of all tokens and decodes them as UTF-8. The flags only affect encoding.

    >>> ByteLevel().decode(["Hello", "Ġw", "Ã", "¶rld"])
    'Hello wörld'
    """

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    def __post_init__(self) -> None:
        for name in ("add_prefix_space", "trim_offsets", "use_regex"):
            check_flag(name, getattr(self, name))

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return one token, the text; invalid UTF-8 becomes U+FFFD as in bytes.decode."""
        tokens = tokens if isinstance(tokens, list) else list(tokens)
        joined = "".join(tokens)
        try:  # all tokens at once, if all characters are symbols
            data = joined.translate(_BYTES).encode("latin-1")
        except UnicodeEncodeError:
            data = b"".join(map(bytes_of, tokens))
        return [data.decode("utf-8", "replace")]
