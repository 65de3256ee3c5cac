"""Reads .safetensors files as memory maps, and writes them.

The layout: the length of the header as 8 bytes, little endian; the header, a JSON object of name → dtype, shape and
the two ends of its bytes (github.com/huggingface/safetensors, "Format"); the bytes of all tensors, without a gap.
The header is checked before it is used, and data is read only when it is accessed.
"""

from __future__ import annotations

import itertools
import json
import math
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import is_text
from tokkit.errors import FormatError, OptionError, ShapeError
from tokkit.escaping import visible
from tokkit.files import files
from tokkit.files.strict_json import Section, brief, kind, loads, typed

MAX_HEADER = 100_000_000
"""Maximum bytes of a header, as in the format's own library."""
MAX_AXES = 64
"""Maximum number of dimensions of a numpy array."""
MAX_DATA = 1 << 62
METADATA = "__metadata__"
START = 8
ALIGNMENT = 8

DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "F8_E4M3": "u1", "F8_E5M2": "u1", "F8_E8M0": "u1",
    "U16": "<u2", "I16": "<i2", "F16": "<f2", "BF16": "<u2", "U32": "<u4", "I32": "<i4", "F32": "<f4",
    "U64": "<u8", "I64": "<i8", "F64": "<f8", "C64": "<c8",
}  # fmt: skip
"""Name in the format → numpy dtype; for types that numpy lacks (BF16, F8), an unsigned integer with the bits."""
FLOATS = ("F32", "F16", "BF16", "F64")
"""Types that `Tensor.float32` can convert."""
_NAMES = {np.dtype(numpys): name for name, numpys in DTYPES.items() if name != "BF16" and name[:2] != "F8"}


class Tensor(NamedTuple):
    """A tensor of a file: its type as named in the file, its shape, and a read-only array over the mapped file.

    BF16 is an array of uint16, F8 types are arrays of uint8: their bits.

    >>> Tensor("BF16", (2,), np.array([0x3F80, 0xC000], dtype=np.uint16)).float32()
    array([ 1., -2.], dtype=float32)
    """

    dtype: str
    shape: tuple[int, ...]
    data: NDArray[Any]

    def float32(self) -> NDArray[np.float32]:
        """Return the values as float32, without a copy for F32; FormatError for types except F16, BF16, F32 and F64."""
        if self.dtype == "BF16":
            return (self.data.astype(np.uint32) << 16).view(np.float32)
        if self.dtype not in FLOATS:
            raise FormatError(f"a tensor has the dtype {self.dtype}; it must be F16, BF16, F32 or F64")
        return self.data.astype(np.float32, copy=False)


class Tensors(dict[str, Tensor]):
    """The tensors of a file, name → `Tensor`, in the order of their bytes; `metadata` comes from the header."""

    def __init__(self, tensors: Iterable[tuple[str, Tensor]] = (), metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(tensors)
        self.metadata = dict(metadata or {})


def read_safetensors(path: str | os.PathLike[str]) -> Tensors:
    """Return the tensors of a file, memory-mapped: data is read when it is accessed.

    Tensors that are not aligned for their type are copied. The file must not be truncated while they are in use;
    replacing it by another file, as `write_safetensors` does, is safe. FormatError names the file, the tensor and the
    error; OSErrors are not caught.

    >>> write_safetensors("small.safetensors", {"ids": np.arange(6).reshape(2, 3)})
    >>> tensors = read_safetensors("small.safetensors")
    >>> tensors["ids"].dtype, tensors["ids"].shape, int(tensors["ids"].data[1, 2])
    ('I64', (2, 3), 5)
    """
    path = Path(path)
    with files.naming(path):
        with files.open_regular(path, "a .safetensors file") as file:
            size = os.fstat(file.fileno()).st_size
            n = _header_length(file.read(START), size)
            header = _Header(file.read(n), size - START - n)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if len(mapped) < size:
                raise FormatError("the file was truncated while it was read")
        return Tensors(header.tensors(mapped, START + n), header.metadata)


def _header_length(start: bytes, size: int) -> int:
    if len(start) < START:
        raise FormatError(
            f"the file has {size} bytes; a .safetensors file begins with the length of its header, 8 bytes"
        )
    n = int.from_bytes(start, "little")
    if n > MAX_HEADER:
        raise FormatError(f"not a .safetensors file: its header has {n} bytes; the maximum is {MAX_HEADER}")
    if n > size - START:
        raise FormatError(f"its header has {n} bytes, but only {size - START} are left: the file is truncated")
    return n


class _Place(NamedTuple):
    begin: int
    end: int
    name: str
    dtype: str
    shape: tuple[int, ...]


class _Header:
    """Parse the header of a file, and check it against the size of the data."""

    def __init__(self, data: bytes, size: int) -> None:
        if not data.startswith(b"{"):
            raise FormatError(f"not a .safetensors file: its header starts {data[:16]!r}, not with an object of JSON")
        value = loads(data)
        told = typed(value.pop(METADATA, {}), METADATA, dict)
        self.metadata = {key: typed(text, f"{METADATA}.{visible(key)}", str) for key, text in told.items()}
        for text in (*value, *self.metadata, *self.metadata.values()):
            if not is_text(text):
                raise FormatError(f"its header has the text {text!a}: a lone surrogate has no UTF-8")
        # Empty tensors come before the tensor that begins at the same byte.
        self.places = sorted(_place(name, entry, size) for name, entry in value.items())
        self._check_cover(size)

    def _check_cover(self, size: int) -> None:
        """Raise FormatError for bytes that belong to two tensors, or to none."""
        end, before = 0, "the start of the data"
        for place in self.places:
            name = brief(place.name)
            if place.begin < end:
                raise FormatError(
                    f"the tensors {before}, up to byte {end}, and {name}, from byte {place.begin}, overlap"
                )
            if place.begin > end:
                raise FormatError(
                    f"bytes {end} to {place.begin} between {before} and the tensor {name} belong to no tensor"
                )
            end, before = place.end, name
        if end < size:
            raise FormatError(
                f"the data have {size} bytes, and the tensors end at byte {end}: {size - end} belong to no tensor"
            )

    def tensors(self, mapped: mmap.mmap, start: int) -> Iterator[tuple[str, Tensor]]:
        for place in self.places:
            yield place.name, Tensor(place.dtype, place.shape, _array(mapped, start, place))


def _place(name: str, value: object, size: int) -> _Place:
    entry = Section(value, f"tensor {brief(name)}")
    dtype = entry.take("dtype", str)
    if dtype not in DTYPES:
        raise FormatError(f"{entry.path}: its dtype is {brief(dtype)}; it must be one of {', '.join(DTYPES)}")
    shape = _counts(entry.take("shape", list), f"{entry.path}: shape")
    ends = _counts(entry.take("data_offsets", list), f"{entry.path}: data_offsets")
    if len(shape) > MAX_AXES:
        raise FormatError(f"{entry.path}: its shape has {len(shape)} axes; the maximum is {MAX_AXES}")
    # numpy checks this too, without counting dimensions of length 0.
    itemsize = np.dtype(DTYPES[dtype]).itemsize
    if math.prod(n for n in shape if n) * itemsize > MAX_DATA:
        raise FormatError(f"{entry.path}: the shape {brief(shape)} is too large for any memory")
    if len(ends) != 2 or ends[0] > ends[1]:
        raise FormatError(f"{entry.path}: data_offsets is {brief(list(ends))}; it must be [begin, end]")
    begin, end = ends
    if end > size:
        raise FormatError(
            f"{entry.path}: its data are bytes {begin} to {end}, but there are {size} bytes of data: the file is "
            "truncated or damaged"
        )
    needed = math.prod(shape) * itemsize
    if needed != end - begin:
        raise FormatError(
            f"{entry.path}: {dtype} of shape {brief(shape)} has {needed} bytes; data_offsets give {end - begin}"
        )
    return _Place(begin, end, name, dtype, shape)


def _counts(values: list[Any], path: str) -> tuple[int, ...]:
    """Return values that must be integers from 0 to the maximum size of a file."""
    for value in values:
        if type(value) is not int or not 0 <= value <= MAX_DATA:
            shown = brief(value) if type(value) is int else kind(value)
            raise FormatError(f"{path}: whole numbers from 0 to {MAX_DATA} are needed, not {shown}")
    return tuple(values)


def _array(mapped: mmap.mmap, start: int, place: _Place) -> NDArray[Any]:
    dtype = np.dtype(DTYPES[place.dtype])
    n = math.prod(place.shape)
    if not n:
        return np.empty(place.shape, dtype=dtype)
    raw = np.frombuffer(mapped, dtype=np.uint8, count=n * dtype.itemsize, offset=start + place.begin)
    if place.dtype == "BOOL" and raw.max() > 1:
        raise FormatError(f"tensor {brief(place.name)} has the boolean {raw.max()}; it must be 0 or 1")
    if (start + place.begin) % dtype.alignment:
        raw = raw.copy()
        raw.flags.writeable = False
    return raw.view(dtype).reshape(place.shape)


def write_safetensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, NDArray[Any] | Tensor | Sequence[NDArray[Any]]],
    metadata: Mapping[str, str] | None = None,
    *,
    overwrite: bool = True,
    alignment: int = ALIGNMENT,
) -> None:
    """Write tensors to a file, completely or not at all (see `files.write_atomically`).

    A tensor is an array, a `Tensor` (for BF16 and F8), or a list of arrays that are concatenated along the first axis.
    Wide dtypes come first and the header is padded to 8 bytes, so that all tensors can be read in place; equal tensors
    always give the same bytes. Mapped arrays of the file that is replaced are allowed. With a larger `alignment`,
    tensors whose size is a multiple of it begin at multiples of it.
    """
    parts = {name: _Parts.of(name, value) for name, value in tensors.items()}

    def order_of(name: str) -> tuple[bool, int, str]:
        return alignment > ALIGNMENT and parts[name].n_bytes % alignment > 0, -parts[name].itemsize, name

    order = sorted(parts, key=order_of)
    header: dict[str, Any] = {}
    if metadata:
        if not all(isinstance(text, str) for item in metadata.items() for text in item):
            raise OptionError("metadata must be text by names; convert other values to JSON first")
        header[METADATA] = dict(metadata)
    end = 0
    for name in order:
        begin, end = end, end + parts[name].n_bytes
        header[name] = {"dtype": parts[name].dtype, "shape": list(parts[name].shape), "data_offsets": [begin, end]}
    try:
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        bad = error.object[error.start]
        raise OptionError(f"names and metadata must be text; {bad!a} is a lone surrogate") from None
    text += b" " * (-(START + len(text)) % alignment)
    if len(text) > MAX_HEADER:
        raise OptionError(f"names and metadata make a header of {len(text)} bytes; the maximum is {MAX_HEADER}")
    stretches = (stretch for name in order for stretch in parts[name].stretches())
    head = [len(text).to_bytes(START, "little"), text]
    files.write_atomically(path, itertools.chain(head, stretches), overwrite=overwrite)


class _Parts(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    arrays: list[NDArray[Any]]

    @classmethod
    def of(cls, name: str, value: NDArray[Any] | Tensor | Sequence[NDArray[Any]]) -> _Parts:
        if not isinstance(name, str) or name == METADATA:
            raise OptionError(f"{name!r} cannot be the name of a tensor")
        if isinstance(value, Tensor):
            if DTYPES.get(value.dtype) is None or value.data.dtype != np.dtype(DTYPES[value.dtype]):
                raise OptionError(f"tensor {name!r}: {value.dtype} is not an array of {value.data.dtype}")
            if value.shape != value.data.shape:
                raise ShapeError(f"tensor {name!r} has the shape {value.shape}, but its array has {value.data.shape}")
            return cls(value.dtype, value.shape, [value.data])
        arrays: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
        if not arrays or not all(isinstance(array, np.ndarray) for array in arrays):
            raise TypeError(f"tensor {name!r} is {type(value).__name__}; it must be an array, a Tensor or arrays")
        first = arrays[0]
        dtype = _NAMES.get(first.dtype.newbyteorder("<"))
        if dtype is None:
            raise OptionError(f"tensor {name!r} is an array of {first.dtype}; it must be {', '.join(_NAMES.values())}")
        if len(arrays) == 1:
            return cls(dtype, first.shape, arrays)
        for array in arrays:
            if not array.ndim or array.shape[1:] != first.shape[1:] or array.dtype != first.dtype:
                pair = f"{first.dtype} of shape {first.shape} and {array.dtype} of shape {array.shape}"
                raise ShapeError(f"tensor {name!r}: {pair} cannot be concatenated")
        return cls(dtype, (sum(len(array) for array in arrays), *first.shape[1:]), arrays)

    @property
    def itemsize(self) -> int:
        return np.dtype(DTYPES[self.dtype]).itemsize

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.itemsize

    def stretches(self) -> Iterator[memoryview]:
        for array in self.arrays:
            little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            if little.size:
                yield little.reshape(-1).view(np.uint8).data
