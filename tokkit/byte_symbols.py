"""Bytes as tokens: GPT-2's alphabet of printable characters (byte symbols) for them, and bytes without a token.

A printable byte of Latin-1 is its own symbol; the others get the characters from U+0100 on, in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


NEVER_IN_UTF8 = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])
"""The bytes that never occur in UTF-8."""


def byte_symbols() -> dict[int, str]:
    """Return the symbol of each byte, in the order of the bytes.

    >>> byte_symbols()[ord(" ")]
    'Ġ'
    """
    return dict(enumerate(SYMBOLS))


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


def is_utf_8(data: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def missing_byte(blob: bytes, offsets: NDArray[np.int64]) -> int | None:
    """Return a byte without a token, or None; text with such a byte would have no ids."""
    absent = missing_bytes(blob, offsets)
    return absent[0] if absent else None


def missing_bytes(blob: bytes, offsets: NDArray[np.int64]) -> list[int]:
    """Return the bytes without a token of length one."""
    starts = offsets[:-1][np.diff(offsets) == 1]
    absent = np.ones(256, dtype=bool)
    absent[np.frombuffer(blob, dtype=np.uint8)[starts]] = False  # np.setdiff1d would import half of numpy
    found: list[int] = np.flatnonzero(absent).tolist()
    return found
