"""GPT-2's byte alphabet: bytes ↔ the printable characters (byte symbols) that stand for them in files.

A printable byte of Latin-1 is its own symbol; the others get the characters from U+0100 on, in order.
"""

from __future__ import annotations

import numpy as np

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_HIDDEN = [byte for byte in range(256) if byte not in _PRINTABLE]

SYMBOLS = "".join(chr(byte) if byte in _PRINTABLE else chr(0x100 + _HIDDEN.index(byte)) for byte in range(256))
"""The character of each byte."""


class _Bytes(dict[int, int]):
    """Code point of a symbol → code point of the byte's Latin-1 character; ValueError for any other character."""

    def __missing__(self, code_point: int) -> int:
        raise ValueError(f"{chr(code_point)!r} (U+{code_point:04X}) is not one of the 256 byte symbols")


_BYTES = _Bytes({ord(symbol): byte for byte, symbol in enumerate(SYMBOLS)})
_SYMBOLS = frozenset(SYMBOLS)
BYTE_OF = np.array([_BYTES.get(code_point, 256) for code_point in range(max(_BYTES) + 2)], dtype=np.uint16)
"""Byte by code point; 256 means none, as in the last entry, which stands for all later code points."""


def to_symbols(data: bytes) -> str:
    """Return one character for each byte.

    >>> to_symbols(" é".encode())
    'ĠÃ©'
    """
    return data.decode("latin-1").translate(SYMBOLS)


def to_bytes(text: str) -> bytes:
    """Return one byte for each character; ValueError names a character that is not a byte's symbol.

    >>> to_bytes("ĠÃ©").decode()
    ' é'
    """
    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2")
    found = BYTE_OF[np.minimum(units, len(BYTE_OF) - 1)]
    if len(found) and found.max() > 255:
        text.translate(_BYTES)  # raises the error
    return bytes(found.astype(np.uint8))


def is_symbols(text: str) -> bool:
    """Return whether every character stands for a byte."""
    return _SYMBOLS.issuperset(text)
