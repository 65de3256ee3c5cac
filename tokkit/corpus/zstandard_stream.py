"""Decompresses .zst files, including those with several frames, and detects truncated ones."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

from tokkit.errors import OptionError

READ_BYTES = 1 << 17


class ZstandardStream(io.RawIOBase):
    """The decompressed bytes of a stream; EOFError if it ends inside a frame."""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        try:
            import zstandard
        except ImportError:
            raise OptionError(f"{name}: .zst files are read by zstandard: pip install 'pytokkit[data]'") from None
        self._raw, self._new = raw, zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._given = b""  # compressed bytes that were read, but not decompressed yet
        self._made = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Decompress into a buffer; 0 at the end."""
        while not self._made:
            data = self._given or self._raw.read(READ_BYTES)
            self._given = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("the compressed file is truncated")
                return 0
            if self._frame is None:
                self._frame = self._new()
            self._made = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._given, self._frame = self._frame.unused_data, None
        n = min(len(buffer), len(self._made))
        buffer[:n] = self._made[:n]
        self._made = self._made[n:]
        return n
