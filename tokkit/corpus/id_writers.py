"""Writes packed ids to files: .npy, or raw .bin with a JSON sidecar; whole or in numbered shards."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from tokkit.errors import OptionError
from tokkit.files import files, temporary_files

KINDS = {".npy": "npy", ".bin": "bin"}
NPY_HEAD_BYTES = 128
"""Bytes of the header of a .npy, for any count of ids, because the count is written at the end."""


@dataclass(frozen=True, slots=True)
class Written:
    """The result of writing: the number of ids, the bytes of text, and the files, including sidecars."""

    n_ids: int
    n_bytes: int
    files: list[Path]


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return "npy" or "bin" for the name of a file; OptionError for any other ending."""
    kind = KINDS.get(os.path.splitext(os.fspath(path))[1].lower())
    if kind is None:
        raise OptionError(f"{files.show(path)} is not the name of a file of ids: it must end in {' or '.join(KINDS)}")
    return kind


def npy_head(dtype: str, count: int) -> bytes:
    """Return the header of a .npy with `count` ids of `dtype` ("<u2", "<u4"); format 1.0 of NEP 1."""
    about = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({count},), }}"
    head = b"\x93NUMPY\x01\x00" + (NPY_HEAD_BYTES - 10).to_bytes(2, "little") + about.encode()
    return head.ljust(NPY_HEAD_BYTES - 1) + b"\n"


class IdWriter:
    """Writes ids to temporary files next to `out`, which get their names when the `with` block ends without an error.

    The JSON sidecar of each .bin has the dtype and number of ids and the entries of `about`. With `shard_ids`, each
    shard except the last has that many ids, and the sidecar of `out` lists the shards. A file that replaces another is
    flushed to disk first; a new one is not. OSError if `out` cannot be written.
    """

    def __init__(
        self,
        out: str | os.PathLike[str],
        kind: str,
        *,
        dtype: str,
        shard_ids: int | None = None,
        overwrite: bool = True,
        about: Mapping[str, Any],
    ) -> None:
        if shard_ids is not None and (isinstance(shard_ids, bool) or not isinstance(shard_ids, int) or shard_ids < 1):
            raise OptionError(f"shard_ids is {shard_ids!r}; it must be an int of at least 1, or None for one file")
        self._out = os.path.realpath(out)
        self._kind, self._dtype, self._overwrite = kind, {"uint16": "<u2", "uint32": "<u4"}[dtype], overwrite
        self._width = int(self._dtype[-1])
        self._about = {"format": "tokkit ids", "dtype": dtype, "byteorder": "little", **about}
        self._shard_bytes = shard_ids * self._width if shard_ids else None
        self._aside: dict[str, str] = {}
        self._sources: list[str] = []
        self._counts: list[tuple[str, int]] = []
        self._file: BinaryIO | None = None
        self._room = 0
        self.documents = 0
        """Number of documents; the caller counts them."""
        self.n_ids = 0
        self.files: list[Path] = []
        """The result, after the `with` block has ended."""
        targets = self._names(0) if shard_ids else [self._out, *self._sidecars(self._out)]
        for target in targets:
            self._check(target)
        # The caller's own spelling of the name comes first, because messages show it.
        self._targets = targets if shard_ids else [os.fspath(out), *targets]

    def reads(self, path: str) -> None:
        """Register an input file; SameFileError if an output file would replace it."""
        self._sources.append(path)
        files.refuse_inputs(self._targets, [path])

    def write(self, data: Any) -> None:
        """Append packed ids: a buffer of uint16 or uint32 in the machine's order."""
        rest = memoryview(data).cast("B")
        if sys.byteorder == "big":
            rest = memoryview(np.frombuffer(rest, dtype=self._dtype.replace("<", "=")).byteswap().tobytes())
        while rest:
            if not self._room:
                self._next_file()
            part = rest[: self._room]
            self._write_all(part)
            rest = rest[len(part) :]
            self._room -= len(part)
            self._counts[-1] = (self._counts[-1][0], self._counts[-1][1] + len(part) // self._width)
            self.n_ids += len(part) // self._width

    def _write_all(self, part: memoryview) -> None:
        with temporary_files.naming(self._counts[-1][0]):
            while part and self._file is not None:
                part = part[self._file.write(part) :]

    def _names(self, number: int) -> list[str]:
        """Return the names of a shard, of its sidecar, and of the list of all shards."""
        stem, suffix = os.path.splitext(self._out)
        shard = f"{stem}-{number:05}{suffix}"
        return [shard, *self._sidecars(shard), self._out + ".json"]

    def _sidecars(self, target: str) -> list[str]:
        return [target + ".json"] if self._kind == "bin" else []

    def _check(self, target: str) -> None:
        shown = files.show(target)
        files.refuse_inputs([target], self._sources)
        if os.path.isdir(target):
            raise IsADirectoryError(f"{shown} is a directory; name a file")
        if not os.path.isdir(os.path.dirname(target)):
            folder = files.show(os.path.dirname(target))
            raise FileNotFoundError(f"{shown} cannot be written: there is no directory {folder}")
        if files.is_stream(target):
            raise OptionError(f"{shown} is a pipe or a device; ids are written to files")
        if not self._overwrite and os.path.lexists(target):
            raise FileExistsError(f"{shown} exists")
        if os.path.exists(target) and not os.access(target, os.W_OK):
            raise PermissionError(f"{shown} is read-only")

    def _create(self, target: str) -> BinaryIO:
        self._check(target)
        if not self._aside:
            temporary_files.clear(self._out)
        aside = temporary_files.new(target, self._out)
        self._aside[target] = aside
        return open(aside, "xb", buffering=0)

    def _next_file(self) -> None:
        self._end_file()
        target = self._names(len(self._counts))[0] if self._shard_bytes else self._out
        self._file = self._create(target)
        self._room = self._shard_bytes or sys.maxsize
        self._counts.append((target, 0))
        if self._kind == "npy":
            self._file.write(npy_head(self._dtype, 0))

    def _end_file(self) -> None:
        """Write the number of ids into the file, close it, and write its sidecar."""
        if self._file is None:
            return
        target, count = self._counts[-1]
        with self._file as file:
            self._file = None
            if self._kind == "npy":
                file.seek(0)
                file.write(npy_head(self._dtype, count))
        for sidecar in self._sidecars(target):
            self._put_json(sidecar, {"count": count, **self._whole()})

    def _whole(self) -> dict[str, Any]:
        """Return the number of documents for the sidecar of an unsharded file; a shard does not know its own."""
        return {} if self._shard_bytes else {"documents": self.documents}

    def _put_json(self, target: str, more: Mapping[str, Any]) -> None:
        with self._create(target) as file:
            file.write(json.dumps({**self._about, **more}, indent=1, ensure_ascii=False).encode() + b"\n")

    def __enter__(self) -> IdWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            if self._file is not None:
                self._file.close()
            for aside in self._aside.values():
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(aside)

    def _finish(self) -> None:
        if not self._counts:  # without ids, an empty file is written
            self._next_file()
        self._end_file()
        if self._shard_bytes:
            shards = [{"file": os.path.basename(name), "count": count} for name, count in self._counts]
            self._put_json(self._out + ".json", {"count": self.n_ids, "documents": self.documents, "shards": shards})
        for target, aside in self._aside.items():
            _take_name(aside, target, overwrite=self._overwrite)
        self.files = [Path(target) for target in self._aside]


def _take_name(aside: str, target: str, *, overwrite: bool) -> None:
    if not overwrite:
        files.put_new(aside, target)
        return
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
        with open(aside, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(aside, stat.S_IMODE(mode))
    os.replace(aside, target)


def dtype_of(n_ids: int) -> str:
    """Return "uint16" if it can hold every id of a tokenizer, else "uint32"."""
    return "uint16" if n_ids <= 1 << 16 else "uint32"
