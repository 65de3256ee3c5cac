"""Bytes in, printable characters out, and back: how GPT-2's files write tokens that are not UTF-8.

A printable byte of Latin-1 is its own character; the others take the characters from U+0100 up, in their order.
"""

from __future__ import annotations

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_HIDDEN = [byte for byte in range(256) if byte not in _PRINTABLE]

SYMBOLS = "".join(chr(byte) if byte in _PRINTABLE else chr(0x100 + _HIDDEN.index(byte)) for byte in range(256))
"""The character of each byte."""


class _Bytes(dict[int, int]):
    """Code point of a symbol → code point of the byte's Latin-1 character; ValueError for any other character."""

    def __missing__(self, code_point: int) -> int:
        raise ValueError(f"{chr(code_point)!r} (U+{code_point:04X}) is not one of the 256 byte symbols")


_BYTES = _Bytes({ord(symbol): byte for byte, symbol in enumerate(SYMBOLS)})


def to_symbols(data: bytes) -> str:
    """Return one character for each byte.

    >>> to_symbols(" é".encode())
    'ĠÃ©'
    """
    return data.decode("latin-1").translate(SYMBOLS)


def to_bytes(text: str) -> bytes:
    """Return one byte for each character; ValueError names a character that is no byte's symbol.

    >>> to_bytes("ĠÃ©").decode()
    ' é'
    """
    return text.translate(_BYTES).encode("latin-1")


def is_symbols(text: str) -> bool:
    """Tell whether every character stands for a byte."""
    return all(ord(character) in _BYTES for character in text)
