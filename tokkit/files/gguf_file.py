"""Reads the header of a GGUF file: its keys, and the positions of its tensors; all lengths are checked before use.

GGUF versions 2 and 3, little endian: magic, version, number of tensors, number of keys; then for each key its name, the
number of its type, and the value; then for each tensor its name, shape, type number, and the start of its data. The
data are not read here, so a model of gigabytes takes only the time of its first megabytes. Version 1 (32-bit lengths)
and big-endian files are refused.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files.strict_json import brief

MAGIC = b"GGUF"
VERSIONS = (2, 3)
CHUNK = 1 << 20
MAX_METADATA = 1 << 27
"""Maximum size of all keys, 128 MiB; the largest metadata in use take 1/5 of it."""
MAX_KEYS = 1 << 16
MAX_NAME = 1 << 16
"""Maximum bytes of a key's name, by the specification."""
MAX_STRINGS = 1 << 22
"""Maximum strings in one array; vocabularies have at most half as many tokens (vocab.MAX_ID), and fewer merges."""
MAX_DEPTH = 4
MAX_TENSORS = 1 << 16
MAX_AXES = 4
"""Maximum number of dimensions of a tensor, by the specification."""
MAX_ITEMS = 1 << 56
"""Maximum numbers in one tensor: more than any file has, and in bytes it still fits in 64 bits."""

# Number of a type → the type: that of a fixed-width value, BOOL, STRING or ARRAY.
_FIXED = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?", 10: "<u8", 11: "<i8", 12: "<f8"}
_BOOL, _STRING, _ARRAY = 7, 8, 9
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")

Value = bool | int | float | bytes | list[bytes] | NDArray[np.generic] | None


class TensorPlace(NamedTuple):
    """A tensor in the header: its shape (rows first, as in numpy), and its start in the data."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


class Header(NamedTuple):
    """The keys of a file, its tensors in the order of the header, and the byte at which the header ends."""

    keys: dict[str, Value]
    places: list[TensorPlace]
    end: int


def read(file: BinaryIO, wanted: Callable[[str], bool]) -> dict[str, Value]:
    """Return the keys that `wanted` accepts; all others are checked and skipped.

    Numbers come as int, float or bool, strings as bytes, arrays of numbers as numpy arrays of their type, arrays of
    strings as lists of bytes, and arrays of arrays, which no tokenizer has, as None. FormatError names the key and
    the byte of the file at which it went wrong.
    """
    return _Reader(file).metadata(wanted)


def read_header(file: BinaryIO) -> Header:
    """Return all keys, as `read` does, and the positions of the tensors, which are not checked against the data."""
    reader = _Reader(file)
    keys = reader.metadata(lambda name: True)
    return Header(keys, *reader.tensors())


def read_keys_end(file: BinaryIO) -> int:
    """Return the byte at which the keys of a file end, after all of them are checked."""
    reader = _Reader(file)
    reader.metadata(lambda name: False)
    return reader.place


class _Reader:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._data = b""
        self._start = 0  # position of self._data in the file
        self._at = 0  # position of the next byte in self._data
        self._key = ""
        self._n_tensors = 0

    def metadata(self, wanted: Callable[[str], bool]) -> dict[str, Value]:
        if self._take(4) != MAGIC:
            raise self._error(0, "not a GGUF file: it does not begin with the bytes GGUF")
        (version,) = _U32.unpack(self._take(4))
        if version not in VERSIONS:
            if version and not version & 0xFFFF:
                raise self._error(4, "a big-endian GGUF file; little-endian ones are read")
            raise self._error(4, f"GGUF version {version}; versions 2 and 3 are read")
        self._n_tensors = self._u64()
        n_keys = self._u64()
        # The shortest possible key: the length of its name, one letter, its type, a value of one byte.
        self._check_count(n_keys, 8 + 1 + 4 + 1, MAX_KEYS, "keys")
        found: dict[str, Value] = {}
        seen: set[str] = set()
        for number in range(n_keys):
            self._key = f"key number {number}"
            at = self.place
            name = self._name()
            self._key = name
            if name in seen:
                raise self._error(at, "the key is given twice")
            seen.add(name)
            value = self._value(wanted(name))
            if wanted(name):
                found[name] = value
        return found

    def tensors(self) -> tuple[list[TensorPlace], int]:
        """Return the tensors and the end of the header; call `metadata` first."""
        self._key = ""
        # The shortest possible entry: the length of its name, one letter, no dimensions, its type, its offset.
        self._check_count(self._n_tensors, 8 + 1 + 4 + 4 + 8, MAX_TENSORS, "tensors", at=8)
        found: dict[str, TensorPlace] = {}
        for number in range(self._n_tensors):
            self._key = f"tensor number {number}"
            at = self.place
            name = self._name()
            self._key = f"tensor {name}"
            if name in found:
                raise self._error(at, "the tensor is there twice")
            at = self.place
            (n_axes,) = _U32.unpack(self._take(4))
            if n_axes > MAX_AXES:
                raise self._error(at, f"{n_axes} dimensions; it must be at most {MAX_AXES}")
            shape = tuple(self._u64() for _ in range(n_axes))[::-1]
            if not 0 < math.prod(shape) <= MAX_ITEMS:
                raise self._error(at, f"no tensor has the shape {shape}")
            (kind,) = _U32.unpack(self._take(4))
            found[name] = TensorPlace(name, shape, kind, self._u64())
        return list(found.values()), self.place

    # ---- values

    def _name(self) -> str:
        at = self.place
        n = self._u64()
        if not 0 < n <= MAX_NAME:
            raise self._error(at, f"a name of {n} bytes; it has from 1 to {MAX_NAME}")
        try:
            return self._take(n).decode("utf-8")
        except UnicodeDecodeError:
            raise self._error(at, "a name that is not UTF-8") from None

    def _value(self, keep: bool) -> Value:
        kind = self._kind()
        if kind == _STRING:
            n = self._u64()
            if keep:
                return self._take(n)
            self._pass_over(n)
            return None
        if kind == _ARRAY:
            return self._array(keep, 1)
        at = self.place
        dtype = np.dtype(_FIXED[kind])
        value = self._take(dtype.itemsize)
        if kind == _BOOL and value[0] > 1:
            raise self._error(at, f"a boolean is 0 or 1, not {value[0]}")
        number: bool | int | float = np.frombuffer(value, dtype=dtype)[0].item()
        return number

    def _kind(self) -> int:
        at = self.place
        (kind,) = _U32.unpack(self._take(4))
        if kind not in _FIXED and kind not in (_STRING, _ARRAY):
            raise self._error(at, f"no value has the type {kind}; types run from 0 to 12")
        return int(kind)

    def _array(self, keep: bool, depth: int) -> Value:
        at = self.place
        kind, count = self._kind(), self._u64()
        if kind == _STRING:
            self._check_count(count, 8, MAX_STRINGS, "strings")
            return self._strings(count, keep)
        if kind == _ARRAY:
            if depth == MAX_DEPTH:
                raise self._error(at, f"arrays nested more than {MAX_DEPTH} deep")
            self._check_count(count, 12, MAX_STRINGS, "arrays")
            for _ in range(count):
                self._array(False, depth + 1)
            return None
        dtype = np.dtype(_FIXED[kind])
        self._check_count(count, dtype.itemsize, MAX_METADATA, "values")
        if not keep:
            self._pass_over(count * dtype.itemsize)
            return None
        data = self._take(count * dtype.itemsize)
        if kind == _BOOL and data.strip(b"\0\1"):
            raise self._error(at, "a boolean is 0 or 1")
        return np.frombuffer(data, dtype=dtype)

    def _strings(self, count: int, keep: bool) -> list[bytes]:
        """Return the strings of an array, in a fast loop, because most of a vocabulary is such an array."""
        found: list[bytes] = []
        unpack = _U64.unpack_from
        data, at = self._data, self._at
        for _ in range(count):
            if at + 8 > len(data):
                self._at = at
                self._need(8)
                data, at = self._data, self._at
            end = at + 8 + unpack(data, at)[0]
            if end > len(data):
                self._at = at
                self._need(end - at)
                data, end, at = self._data, self._at + end - at, self._at
            if keep:
                found.append(data[at + 8 : end])
            at = end
        self._at = at
        return found

    # ---- bytes

    @property
    def place(self) -> int:
        """The position of the next byte in the file."""
        return self._start + self._at

    def _u64(self) -> int:
        return int(_U64.unpack(self._take(8))[0])

    def _take(self, n: int) -> bytes:
        self._need(n)
        taken = self._data[self._at : self._at + n]
        self._at += n
        return taken

    def _pass_over(self, n: int) -> None:
        if self._at + n <= len(self._data):
            self._at += n
            return
        self._check_left(n)
        self._start, self._data, self._at = self.place + n, b"", 0
        self._file.seek(self._start)

    def _need(self, n: int) -> None:
        """Load the next `n` bytes into memory; FormatError if the file does not have them."""
        if self._at + n <= len(self._data):
            return
        self._check_left(n)
        rest = self._data[self._at :]
        self._start, self._at = self.place, 0
        self._data = rest + self._file.read(max(n - len(rest), CHUNK))
        if len(self._data) < n:
            raise self._error(self._start, f"{n} bytes are needed; the file was truncated while it was read")

    def _check_left(self, n: int) -> None:
        left = self._size - self.place
        if n > left:
            raise self._error(
                self.place, f"{n} bytes are needed, and {left} are left: the file is truncated or damaged"
            )
        if self.place + n > MAX_METADATA:
            raise self._error(self.place, f"{n} bytes more; metadata end within {MAX_METADATA} bytes")

    def _check_count(self, count: int, width: int, limit: int, what: str, at: int | None = None) -> None:
        """Refuse a number of items, at byte `at`, that does not fit in the rest of the file or exceeds the limit."""
        left = self._size - self.place
        at = self.place - 8 if at is None else at
        if count * width > left:
            raise self._error(at, f"{count} {what} by the header, but only {left} bytes are left")
        if count > limit:
            raise self._error(at, f"the file has {count} {what}; at most {limit} are read")

    def _error(self, at: int, reason: str) -> FormatError:
        key = f"{brief(self._key) if not self._key.isprintable() else self._key[:80]}, " if self._key else ""
        return FormatError(f"{key}at byte {at}: {reason}")
