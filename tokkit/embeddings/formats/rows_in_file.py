"""Vectors of a .bin that stay in the file until they are asked for, one by one or all in a matrix."""

from __future__ import annotations

import contextlib
import os

import numpy as np
from numpy.typing import NDArray

from tokkit._core.embed.vector_file import copy_rows
from tokkit.errors import FormatError

CHUNK = 1 << 20
"""Bytes read at once: so much stays in the cache between reading and copying."""
IS_POSSIBLE = hasattr(os, "preadv")
"""Whether files can be read by position, and a file that is open can be replaced: not on Windows."""
ROWS_PER_MATRIX = 16
"""Reading a row alone takes about as long as copying so many of a matrix."""


class RowsInFile:
    """The vectors (n, d) of a file whose numbers have been checked; `starts` (n) int64 is where each begins, rising.

    The file is held open and read by position, not mapped: if another program cuts it, reading fails and does not end
    the process. FormatError if the file is not as it was when it was checked.
    """

    def __init__(self, descriptor: int, name: str, starts: NDArray[np.int64], d: int) -> None:
        self._descriptor, self._name, self._starts, self._d = os.dup(descriptor), name, starts, d
        self._state = self._seen()
        self._read_alone = 0

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self._descriptor)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return len(self._starts), self._d

    @property
    def is_worn(self) -> bool:
        """Whether so many rows have been read alone that the matrix is the cheaper way to the next ones."""
        return self._read_alone * ROWS_PER_MATRIX > len(self._starts)

    def take(self, rows: list[int]) -> RowsInFile:
        """Return some of the rows; their numbers rise."""
        return RowsInFile(self._descriptor, self._name, self._starts[rows], self._d)

    def row(self, i: int) -> NDArray[np.float32]:
        """Return one vector (d,), read-only."""
        self._read_alone += 1
        data = os.pread(self._descriptor, 4 * self._d, int(self._starts[i]))
        if self._seen() != self._state or len(data) < 4 * self._d:
            raise self._changed()
        return np.frombuffer(data, dtype=np.float32)

    def matrix(self) -> NDArray[np.float32]:
        """Return all vectors (n, d), a copy."""
        starts, n_bytes = self._starts, 4 * self._d
        rows = np.empty(self.shape, dtype=np.float32)
        buffer, first = memoryview(bytearray(max(CHUNK, n_bytes))), 0
        while first < len(starts):
            end = int(np.searchsorted(starts, starts[first] + len(buffer) - n_bytes, side="right"))
            begin = int(starts[first])
            data = buffer[: int(starts[end - 1]) + n_bytes - begin]
            done = 0
            while done < len(data):
                got = os.preadv(self._descriptor, [data[done:]], begin + done)
                if not got:
                    raise self._changed()
                done += got
            copy_rows(data, starts[first:end] - begin, rows[first:end])
            first = end
        if self._seen() != self._state:
            raise self._changed()
        return rows

    def _seen(self) -> tuple[int, int]:
        about = os.fstat(self._descriptor)
        return about.st_size, about.st_mtime_ns

    def _changed(self) -> FormatError:
        return FormatError(
            f"{self._name} has been changed since it was loaded, before its vectors were read; load it again, or with "
            "mmap=None, which copies them at once"
        )
