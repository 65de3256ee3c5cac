"""Cuts a stream that is one text into blocks while it is read, so that a large file is never held whole."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Callable
from typing import Protocol

from tokkit import limits
from tokkit.corpus.paths import read_errors
from tokkit.errors import CorpusError

BLOCK_BYTES = 1 << 20
"""Bytes that a thread reads and encodes at a time: they fit in the L2 cache, and ids are written soon (bench_encode,
file). The file is read, not mapped: this costs little, and if the file is truncated meanwhile, it is only shorter,
while a mapping would crash the process.
"""
Cut = Callable[[bytearray, int, int], int]
"""(buffer, n, searched) → where a text may be cut: see `StreamBlocks`."""
NOWHERE = -1
"""What a cut returns if it knows no place in any text."""
MEMORY_OF_WHOLE = 32
"""Divides held_bytes for texts that are never cut: Python objects for their pretokens take 80 bytes per byte."""


class Source(Protocol):
    """A stream of bytes that fills buffers."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Read into a buffer; return the number of bytes, 0 at the end."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, n: int, /) -> bytes:
        """Return up to `n` next bytes, none at the end."""


class CleanedStream:
    """A stream of valid UTF-8 from another stream: invalid bytes are replaced or left out."""

    def __init__(self, stream: Readable, errors: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._rest = b""
        self._ended = False

    def readinto(self, buffer: memoryview) -> int:
        """Read into a buffer; return the number of bytes, 0 at the end."""
        while not self._rest and not self._ended:
            raw = self._stream.read(BLOCK_BYTES)
            self._ended = not raw
            self._rest = self._decoder.decode(raw, final=self._ended).encode()
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


class SeenStream:
    """A stream that shows all bytes of another one to a function."""

    def __init__(self, source: Source, see: Callable[[memoryview], object]) -> None:
        self._source, self._see = source, see

    def readinto(self, buffer: memoryview) -> int:
        """Read into a buffer; return the number of bytes, 0 at the end."""
        n = self._source.readinto(buffer) or 0
        if n:
            self._see(buffer[:n])
        return n


class StreamBlocks:
    """Cuts a stream, which is one text, into blocks where `cut` allows it; threads may share it.

    `cut(buffer, n, searched)` returns the last place in buffer[:n] where the text may be cut, or 0; it is known that
    buffer[:searched] has none. CorpusError for more than the limit held_bytes without a place, with the `advice`; after
    NOWHERE, for a 32nd of that.
    """

    def __init__(self, source: Source, name: str, cut: Cut, advice: str = "") -> None:
        self._source, self._name, self._cut, self._advice = source, name, cut, advice
        self._lock = threading.Lock()
        self._carried = b""
        self._ended = False
        self.number = 0
        self.offset = 0

    def next(self, buffer: bytearray) -> tuple[int, int, int, bool] | None:
        """Put the next block into the buffer, which may grow; None at the end of the text.

        Returns (number of the block, its offset, its length in bytes, whether text follows).
        """
        with self._lock:
            n = len(self._carried)
            buffer[:n] = self._carried
            end = searched = 0
            while end <= 0 and not self._ended:
                if n == len(buffer):  # there is no place to cut: double the buffer
                    self._check(n, never=end == NOWHERE)
                    buffer.extend(bytes(n))
                n = self._fill(buffer, n)
                if not self._ended:
                    end = self._cut(buffer, n, searched)
                    searched = n
            end = end if end > 0 else n
            self._carried = bytes(memoryview(buffer)[end:n])
            if not end:
                return None
            found = self.number, self.offset, end, bool(self._carried) or not self._ended
            self.number += 1
            self.offset += end
            return found

    def _check(self, n: int, *, never: bool) -> None:
        """Raise CorpusError if too many bytes are held."""
        if n <= limits.current().held_bytes // (MEMORY_OF_WHOLE if never else 1):
            return
        where = f"{n:,} bytes from byte {self.offset} on"
        why = f" (which counts {MEMORY_OF_WHOLE} times for a text that is split as a whole)" if never else ""
        raise limits.exceeded(
            "held_bytes", f"{self._name}: {where} have no place to cut{why}{self._advice}", CorpusError
        )

    def _fill(self, buffer: bytearray, n: int) -> int:
        with memoryview(buffer) as view:
            while n < len(buffer):
                with read_errors(self._name):
                    got = self._source.readinto(view[n:])
                if not got:
                    self._ended = True
                    return n
                n += got
        return n
