"""Saves the state of a training to a file, and resumes from it, in one format for all trainers.

A file has the training's options and source (JSON), values that the trainer keeps (JSON), the sections that the trainer
writes, and a checksum. A trainer reads the sections in the order in which it wrote them.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError, OptionError
from tokkit.escaping import show
from tokkit.files import temporary_files

MAGIC = b"tokkit training\0"
VERSION = 3
_HEAD = struct.Struct("<16sIII")  # MAGIC, VERSION, bytes of the two JSON texts that follow
_CRC = struct.Struct("<I")  # of everything before it, at the end of the file
_LENGTH = struct.Struct("<Q")
MAX_JSON_BYTES = 1 << 26

Buffer = bytes | bytearray | memoryview
Read = Callable[[Buffer], None]
"""Fills a buffer; ValueError at the end of the file."""


class Sink(Protocol):
    """A destination of sections."""

    def write(self, data: Any, /) -> int:
        """Write all of it."""


class Savable(Protocol):
    """A trainer that can be saved; an empty one can be restored."""

    def save(self, file: Sink) -> None:
        """Write all sections."""

    def load(self, read: Read, size: int) -> None:
        """Read all sections from a file of `size` bytes; ValueError for invalid data."""


T = TypeVar("T", bound=Savable)


class _Checked:
    """A file with a running checksum of the bytes that are written or read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.crc = 0

    def write(self, data: Any, /) -> int:
        """Write all of it."""
        self.crc = zlib.crc32(data, self.crc)
        return self._file.write(data)

    def read(self, buffer: Buffer) -> None:
        """Fill a buffer; ValueError at the end of the file."""
        view = memoryview(buffer).cast("B")
        if self._file.readinto(view) != len(view):  # type: ignore[attr-defined]
            raise ValueError("it ends early")
        self.crc = zlib.crc32(view, self.crc)


@dataclass(frozen=True, slots=True)
class StateFile:
    """The state file of a training: its path, contents, interval of saving, and whether to resume.

    `about` are the options, and `source` is the result of `sources.identity`.
    """

    path: str
    about: Mapping[str, Any]
    every: int
    resumes: bool

    def save(self, trainer: Savable, kept: object = None) -> None:
        """Write the state of a training, which replaces an older one once it is complete."""
        about = json.dumps({**self.about, "byteorder": sys.byteorder}, sort_keys=True).encode()
        also = json.dumps(kept).encode()
        target = os.path.realpath(self.path)
        with temporary_files.beside(target) as aside:
            with open(aside, "xb") as file:
                out = _Checked(file)
                out.write(_HEAD.pack(MAGIC, VERSION, len(about), len(also)) + about + also)
                trainer.save(out)
                file.write(_CRC.pack(out.crc))
            os.replace(aside, target)

    def load(self, make: Callable[[Any], T]) -> tuple[T, Any]:
        """Return the trainer that `make` makes from the kept values, with its state restored, and these values.

        Raises OptionError for a state with other options or another source, and FormatError for a file that is not a
        valid state.
        """
        size = os.path.getsize(self.path)
        with open(self.path, "rb") as file:
            read = _Checked(file)
            head = bytearray(_HEAD.size)
            try:
                read.read(head)
                magic, version, n, n_kept = _HEAD.unpack(head)
                if magic != MAGIC or version != VERSION or max(n, n_kept) > MAX_JSON_BYTES:
                    raise ValueError(f"it is not a training state of version {VERSION}")
                texts = [bytearray(n), bytearray(n_kept)]
                for text in texts:
                    read.read(text)
                about, kept = map(json.loads, texts)
                self._compare(about)
                trainer = make(kept)
                trainer.load(read.read, size)
                if file.read(_CRC.size + 1) != _CRC.pack(read.crc):
                    raise ValueError("its checksum is wrong, so the file is damaged")
            except OptionError:
                raise
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
                raise FormatError(f"{show(self.path)} cannot be resumed: {error}") from None
        return trainer, kept

    def _compare(self, found: dict[str, Any]) -> None:
        """Raise OptionError if the state has other options or another source."""
        wanted = json.loads(json.dumps({**self.about, "byteorder": sys.byteorder}))
        for name in ("model", *wanted):
            if name != "source" and found.get(name) != wanted[name]:
                was, now = found.get(name), wanted[name]
                raise OptionError(f"{show(self.path)} was saved by a training with {name} {was!r}, not {now!r}")
        was, now = found.get("source"), wanted.get("source")
        if (was and was["key"]) != (now and now["key"]):
            names = [of["name"] if of else "texts that have no files" for of in (was, now)]
            other = "as it was before" if names[0] == names[1] else f"not on {names[1]}"
            raise OptionError(f"{show(self.path)} was saved by a training on {names[0]}, {other}")


def write_arrays(file: Sink, *arrays: NDArray[Any]) -> None:
    """Write one-dimensional arrays, each after its length."""
    for array in arrays:
        file.write(_LENGTH.pack(len(array)))
        if len(array):
            file.write(np.ascontiguousarray(array).view(np.uint8).data)


def read_arrays(read: Read, size: int, *dtypes: Any) -> list[NDArray[Any]]:
    """Return the arrays that `write_arrays` wrote, from a file of `size` bytes."""
    found = []
    for dtype in map(np.dtype, dtypes):
        head = bytearray(_LENGTH.size)
        read(head)
        n = _LENGTH.unpack(head)[0]
        if n * dtype.itemsize > size:
            raise ValueError("an array is too large")
        found.append(np.empty(n, dtype=dtype))
        if n:
            read(found[-1].view(np.uint8).data)
    return found
