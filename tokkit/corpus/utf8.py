"""What the bytes of a text begin with, a byte-order mark or not, and what to say if they are not UTF-8."""

from __future__ import annotations

import codecs
import io
import logging
from typing import BinaryIO, cast

from tokkit.errors import CorpusError

MARK = codecs.BOM_UTF8
TO_GO_ON = '; use input_errors="replace" or "ignore" to go on'
"""The end of messages about text that is not UTF-8."""

logger = logging.getLogger("tokkit")


def not_utf8(name: str, at: int, byte: int) -> CorpusError:
    """Return the error for a byte at an offset of a file that is not UTF-8."""
    return CorpusError(f"{name}: byte {at} (0x{byte:02x}) is not UTF-8{TO_GO_ON}")


def without_mark(data: bytes, name: str) -> bytes:
    """Return the bytes of a text without a byte-order mark at the start, which is told in a warning."""
    if not data.startswith(MARK):
        return data
    logger.warning("%s begins with a byte-order mark, which is dropped", name)
    return data[len(MARK) :]


def after_mark(stream: BinaryIO, name: str, *, seekable: bool) -> tuple[BinaryIO, int]:
    """Return a stream of the text without a byte-order mark at the start, and the number of bytes left out.

    Unless the stream is `seekable`, the bytes that were read to see that are kept.
    """
    start = stream.tell() if seekable else 0
    first = b""
    while len(first) < len(MARK) and (more := stream.read(len(MARK) - len(first))):
        first += more
    rest = without_mark(first, name)
    if len(rest) < len(first) or not first:
        return stream, len(first) - len(rest)
    if seekable:
        stream.seek(start)
        return stream, 0
    return cast(BinaryIO, io.BufferedReader(_Joined(first, stream))), 0


class _Joined(io.RawIOBase):
    """The bytes that were read from a stream, and the rest of it."""

    def __init__(self, first: bytes, stream: BinaryIO) -> None:
        self._first, self._stream = first, stream

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Read into a buffer; 0 at the end."""
        data = self._first or self._stream.read(len(buffer))
        self._first = data[len(buffer) :]
        n = min(len(data), len(buffer))
        buffer[:n] = data[:n]
        return n
