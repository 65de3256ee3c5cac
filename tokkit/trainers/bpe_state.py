"""Saves the state of a BPE training to a file, and goes on from it."""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

from tokkit._core.train import BPETrainer
from tokkit.errors import FormatError, OptionError
from tokkit.escaping import show
from tokkit.formats import temporary_files

MAGIC = b"tokkit training\0"
VERSION = 1
_HEAD = struct.Struct("<16sII")  # MAGIC, VERSION, bytes of the JSON that follows
_CRC = struct.Struct("<I")  # of all before it, the last thing in the file
MAX_JSON_BYTES = 1 << 24


class _Checked:
    """A file whose bytes are summed up while they are written or read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.crc = 0

    def write(self, data: Any) -> int:
        """Write all of it."""
        self.crc = zlib.crc32(data, self.crc)
        return self._file.write(data)

    def read(self, buffer: bytearray | memoryview) -> None:
        """Fill a buffer; ValueError at the end of the file."""
        view = memoryview(buffer).cast("B")
        if self._file.readinto(view) != len(view):  # type: ignore[attr-defined]
            raise ValueError("it ends early")
        self.crc = zlib.crc32(view, self.crc)


def save(path: str, trainer: BPETrainer, about: Mapping[str, Any]) -> None:
    """Write the state of a training, which replaces an older one once it is complete."""
    data = json.dumps({**about, "byteorder": sys.byteorder}, sort_keys=True).encode()
    target = os.path.realpath(path)
    with temporary_files.beside(target) as aside:
        with open(aside, "xb") as file:
            out = _Checked(file)
            out.write(_HEAD.pack(MAGIC, VERSION, len(data)) + data)
            trainer.save(out)  # type: ignore[arg-type]  # which only writes to it
            file.write(_CRC.pack(out.crc))
        os.replace(aside, target)


def load(path: str, trainer: BPETrainer, about: Mapping[str, Any]) -> None:
    """Put a state into a trainer without words; FormatError if the file is not one, OptionError for other options."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        read = _Checked(file)
        head = bytearray(_HEAD.size)
        try:
            read.read(head)
            magic, version, n = _HEAD.unpack(head)
            if magic != MAGIC or version != VERSION or n > MAX_JSON_BYTES:
                raise ValueError(f"it is not a state of version {VERSION} of a training")
            data = bytearray(n)
            read.read(data)
            found = json.loads(data)
            for name, value in json.loads(json.dumps({**about, "byteorder": sys.byteorder})).items():
                if found[name] != value:
                    raise OptionError(f"{show(path)} is of a training with {name} {found[name]!r}, not {value!r}")
            trainer.load(read.read, size)
            if file.read(_CRC.size + 1) != _CRC.pack(read.crc):
                raise ValueError("its checksum is another")
        except OptionError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{show(path)} cannot be resumed from: {error}") from None
