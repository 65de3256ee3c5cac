"""Reads the keys and the memory-mapped tensors of a GGUF file; data is read at access."""

from __future__ import annotations

import math
import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files import files, gguf_file
from tokkit.files.gguf_blocks import BLOCK_TYPES, PLAIN_TYPES, BlockType, Groups
from tokkit.files.gguf_file import TensorPlace, Value
from tokkit.files.safetensors import Tensor
from tokkit.files.strict_json import brief

ALIGNMENT = 32
"""Default alignment of offsets in bytes; the key general.alignment overrides it."""
MAX_ALIGNMENT = 1 << 20
PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")
"""Pattern of the name of one of several files of a model."""
WEIGHTS_AT_ONCE = 1 << 17
"""Number of weights that are unpacked at a time, so that intermediate arrays stay in the CPU's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockTensor:
    """A tensor in blocks: its type as in `Tensor.dtype`, its shape, and its bytes in the mapped file, row by row.

    `len` and `rows` allow reading it row by row; for everything else, use `float32`.
    """

    name: str
    type: BlockType
    shape: tuple[int, ...]
    data: NDArray[np.uint8]

    @property
    def dtype(self) -> str:
        """The name of the type, Q4_K for example."""
        return self.type.name

    def __len__(self) -> int:
        return self.shape[0]

    def between(self, first: int, end: int) -> BlockTensor:
        """Return rows `first` to `end` of a matrix as a tensor."""
        return replace(self, shape=(end - first, *self.shape[1:]), data=self.data[first:end])

    def rows(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return rows as float32; only these rows are read."""
        return self._groups(self.data[ids]).float32().reshape(len(ids), *self.shape[1:])

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows (first, end) to unpack at a time."""
        n = len(self.data)
        step = max(1, WEIGHTS_AT_ONCE * n // math.prod(self.shape))
        for first in range(0, n, step):
            yield first, min(first + step, n)

    def float32(self) -> NDArray[np.float32]:
        """Return all weights as float32; FormatError if a scale is not finite."""
        made = np.empty((len(self.data), self.shape[-1]), dtype=np.float32)
        for first, end in self.stretches():
            made[first:end] = self._groups(self.data[first:end]).float32().reshape(end - first, -1)
        return made.reshape(self.shape)

    def _groups(self, data: NDArray[np.uint8]) -> Groups:
        with np.errstate(invalid="ignore"):
            made = self.type.groups(data.reshape(-1, self.type.n_bytes))
        if not (np.isfinite(made.scales).all() and (made.minima is None or np.isfinite(made.minima).all())):
            raise FormatError(f"the tensor {self.name!r} of {self.dtype} has a scale that is NaN or infinite")
        return made


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """The contents of a GGUF file: keys as from `gguf_file.read`, and tensors by name."""

    keys: dict[str, Value]
    tensors: dict[str, Tensor | BlockTensor]


def read_gguf(path: str | os.PathLike[str]) -> Contents:
    """Return the keys and the tensors of a file, or of the first of several; data is read when it is accessed.

    Types of tensors are those of `PLAIN_TYPES` and `BLOCK_TYPES`. A model in several files, named
    NAME-00001-of-00003.gguf and so on, has the keys of the first and the tensors of all. Files must not be truncated
    while they are in use. FormatError names the file, the tensor and the error; OSErrors are not caught.
    """
    path = Path(path)
    first = _read_one(path)
    n = _split(first.keys, "count", 1, path)
    return first if n == 1 else _joined(first, n, path)


def _joined(first: Contents, n: int, path: Path) -> Contents:
    """Return the contents of the `n` files of a model, whose first file is read already."""
    name = PART.fullmatch(path.name)
    number = _split(first.keys, "no", 0, path)
    if name is None or int(name[3]) != n or int(name[2]) != number + 1:
        raise FormatError(
            f"{files.show(path)}: by its keys, this is file {number + 1} of {n} of a model; its name must be "
            f"NAME-{number + 1:05}-of-{n:05}.gguf"
        )
    names = [path.with_name(f"{name[1]}-{i + 1:05}-of-{n:05}.gguf") for i in range(n)]
    if number:
        raise FormatError(f"{files.show(path)}: this model has {n} files; load it by the first, {names[0].name}")
    tensors = dict(first.tensors)
    for i, other in enumerate(names[1:], 1):
        part = _read_one(other)
        told = _split(part.keys, "no", 0, other), _split(part.keys, "count", 1, other)
        if told != (i, n):
            raise FormatError(f"{files.show(other)}: by its keys, this is file {told[0] + 1} of {told[1]}")
        if twice := tensors.keys() & part.tensors.keys():
            raise FormatError(f"{files.show(other)}: an earlier file has the tensor {brief(min(twice))} too")
        tensors |= part.tensors
    if (total := _split(first.keys, "tensors.count", len(tensors), path)) != len(tensors):
        raise FormatError(f"{files.show(path)}: {n} files have {len(tensors)} tensors; split.tensors.count is {total}")
    return Contents(first.keys, tensors)


def _split(keys: dict[str, Value], name: str, default: int, path: Path) -> int:
    """Return a number about the division of a model into files."""
    value = keys.get(f"split.{name}", default)
    if type(value) is not int or value < 0:
        raise FormatError(f"{files.show(path)}: split.{name}: {value!r}; it must be a number that is not negative")
    return max(value, 1) if name == "count" else value


def _read_one(path: Path) -> Contents:
    """Return the contents of one file."""
    with files.naming(path):
        with files.open_regular(path, "a GGUF file") as file:
            header = gguf_file.read_header(file)
            size = os.fstat(file.fileno()).st_size
            places = _checked(header, size)
            if not places:
                return Contents(header.keys, {})
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if len(mapped) < size:
                raise FormatError("the file was truncated while it was read")
        return Contents(header.keys, {place.name: _tensor(mapped, at, place) for at, place in places})


def _checked(header: gguf_file.Header, size: int) -> list[tuple[int, TensorPlace]]:
    """Return the start of each tensor in the file, sorted, after checking that all fit without overlaps."""
    alignment = header.keys.get("general.alignment", ALIGNMENT)
    if type(alignment) is not int or not 0 < alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
        raise FormatError(f"general.alignment: {alignment!r}; it is a power of two of at most {MAX_ALIGNMENT}")
    start = header.end + -header.end % alignment
    found = sorted(((start + place.offset, place) for place in header.places), key=lambda each: each[0])
    end, before = start, ""
    for at, place in found:
        name = f"tensor {brief(place.name)}"
        if place.offset % alignment:
            raise FormatError(f"{name}: its offset {place.offset} is not a multiple of the alignment, {alignment}")
        if at < end:
            raise FormatError(f"{name} begins at byte {at}, and the tensor {before} ends at byte {end}: they overlap")
        end, before = at + _n_bytes(place), brief(place.name)
        if end > size:
            raise FormatError(f"{name} ends at byte {end} of a file that has {size}: the file is cut or damaged")
    return found


def _n_bytes(place: TensorPlace) -> int:
    """Return the bytes of a tensor; FormatError for a type that is not read, or rows that are not whole blocks."""
    if place.kind in PLAIN_TYPES:
        return math.prod(place.shape) * int(np.dtype(PLAIN_TYPES[place.kind][1]).itemsize)
    if place.kind not in BLOCK_TYPES:
        names = [name for name, _ in PLAIN_TYPES.values()] + [block.name for block in BLOCK_TYPES.values()]
        raise FormatError(
            f"tensor {brief(place.name)}: its type has the number {place.kind}; {', '.join(names)} are read"
        )
    block = BLOCK_TYPES[place.kind]
    if not place.shape or place.shape[-1] % block.n_weights:
        raise FormatError(
            f"tensor {brief(place.name)}: {block.name} is for rows of a multiple of {block.n_weights}, and its shape "
            f"is {place.shape}"
        )
    return math.prod(place.shape) // block.n_weights * block.n_bytes


def _tensor(mapped: mmap.mmap, at: int, place: TensorPlace) -> Tensor | BlockTensor:
    raw = np.frombuffer(mapped, dtype=np.uint8, count=_n_bytes(place), offset=at)
    if place.kind in BLOCK_TYPES:
        rows = math.prod(place.shape[:-1])
        return BlockTensor(place.name, BLOCK_TYPES[place.kind], place.shape, raw.reshape(rows, -1))
    name, numpys = PLAIN_TYPES[place.kind]
    dtype = np.dtype(numpys)
    if at % dtype.alignment:
        raw = raw.copy()
        raw.flags.writeable = False
    return Tensor(name, place.shape, raw.view(dtype).reshape(place.shape))
