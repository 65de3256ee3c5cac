"""Arrays of unknown length: in memory up to a size, then in unnamed temporary files."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


@contextlib.contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn an OSError, such as a full disk, into one that names the data and the place."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"{what} cannot be written to a temporary file in {tempfile.gettempdir()}: {error.strerror} (set TMPDIR "
            "to another folder, or max_memory to more)",
        ) from None


class GrowingArrays:
    """Several arrays that grow together.

    Above `max_bytes` they move to files that the system removes with the last array that uses them, however the process
    ends.
    """

    def __init__(self, dtypes: Sequence[DTypeLike], max_bytes: int, what: str) -> None:
        self._arrays: list[NDArray[Any]] = [np.empty(0, dtype) for dtype in dtypes]
        self._files: list[IO[bytes]] = []
        self._max_bytes = max_bytes
        self._what = what
        self._length = 0

    def append(self, *arrays: NDArray[Any]) -> None:
        """Append the same number of items to each array; OSError if they cannot be written."""
        end = self._length + len(arrays[0])
        if not self._files and end * sum(array.itemsize for array in arrays) > self._max_bytes:
            self._spill()
        if self._files:
            with disk_errors(self._what):
                for file, array in zip(self._files, arrays, strict=True):
                    file.write(array.data)
        else:
            for kept, array in zip(self._arrays, arrays, strict=True):
                if end > len(kept):
                    kept.resize(end + end // 2, refcheck=False)
                kept[self._length : end] = array
        self._length = end

    def _spill(self) -> None:
        with disk_errors(self._what):
            for kept in self._arrays:
                self._files.append(tempfile.TemporaryFile(prefix="tokkit-"))  # noqa: SIM115 - for close
                self._files[-1].write(kept[: self._length].data)
        self._arrays = [np.empty(0, kept.dtype) for kept in self._arrays]

    def take(self) -> list[NDArray[Any]]:
        """Return the arrays, which cannot grow any more; those in files are memory-mapped."""
        if not self._files:
            for kept in self._arrays:
                kept.resize(self._length, refcheck=False)
            return self._arrays
        if not self._length:
            return self._arrays
        with disk_errors(self._what):
            for file in self._files:
                file.flush()
            made = [
                np.asarray(np.memmap(file, kept.dtype, "r", shape=(self._length,)))
                for file, kept in zip(self._files, self._arrays, strict=True)
            ]
        self.close()
        return made

    def close(self) -> None:
        """Remove the files; returned arrays keep their files until they are freed."""
        for file in self._files:
            with contextlib.suppress(OSError):  # data not yet written is not needed
                file.close()

    def __enter__(self) -> GrowingArrays:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
