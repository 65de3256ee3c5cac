"""Bounded reading of regular files, and writing that never leaves an incomplete file."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from io import BufferedReader
from typing import Any

from tokkit import limits
from tokkit.errors import FormatError, SameFileError
from tokkit.escaping import show as show
from tokkit.files import temporary_files

Buffer = bytes | memoryview

NO_LINKS = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EMLINK)
"""Errors of os.link where hard links do not exist: exFAT, some network mounts, containers and systems."""

KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
)


def open_regular(path: str | os.PathLike[str], expected: str = "a tokenizer file") -> BufferedReader:
    """Open a regular file for reading; FormatError for other types of files."""
    check_name(path)
    mode = os.stat(path).st_mode
    for is_kind, kind in KINDS:
        if is_kind(mode):
            raise FormatError(f"{kind}; it must be {expected}")
    return open(path, "rb")


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], *others: type[Exception]) -> Iterator[None]:
    """Put the name of the file in front of each FormatError raised within; errors of `others` become one too."""
    errors: tuple[type[Exception], ...] = (FormatError, *others)
    try:
        yield
    except errors as error:
        raise FormatError(f"{show(path)}: {error}") from None


def check_name(path: str | os.PathLike[str]) -> None:
    """Raise FormatError for an invalid path, which has a NUL or invalid surrogates."""
    name = os.fspath(path)
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise FormatError(f"{name!r} is not a path: it has a NUL character, or surrogates that encode no byte")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file; FormatError for other types, an empty file, or more than file_bytes."""
    with open_regular(path) as file:
        return read_all(file)


def read_all(file: BufferedReader) -> bytes:
    """Return the bytes of an open file; FormatError for an empty file, or one above the limit file_bytes."""
    limit = limits.current().file_bytes
    data = file.read(limit + 1)
    if not data:
        raise FormatError("the file is empty")
    if len(data) > limit:
        raise limits.exceeded("file_bytes", f"the file has more than {limit:,} bytes", FormatError)
    return data


def decode(data: bytes) -> str:
    """Return UTF-8 as text, without a byte-order mark; a FormatError has the line and byte of invalid UTF-8."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"line {line}: not UTF-8 (byte {data[error.start]:#04x} at {error.start})") from None


def refuse_inputs(
    outputs: Iterable[str | os.PathLike[str]], inputs: Iterable[str | os.PathLike[str] | bytes | os.PathLike[bytes]]
) -> None:
    """Raise SameFileError if one of `outputs` is one of `inputs`, because an input file would be overwritten.

    Files are compared, not names, so links, different spellings of a path and case-insensitive names are handled. "-"
    is standard output and standard input, if these are files. A file that does not exist is not an input, and pipes and
    devices are not overwritten.
    """
    written: dict[Any, str] = {}
    for out in outputs:
        if (key := _identity(os.fspath(out), "stdout")) is not None:
            written.setdefault(key, os.fspath(out))
    for given in inputs if written else ():
        path = os.fsdecode(given)
        if (key := _identity(path, "stdin")) in written:
            name = "standard output" if written[key] == "-" else show(written[key])
            read = "standard input" if path == "-" else show(path)
            raise SameFileError(f"the output {name} and the input {read} are the same file; choose another output")


def _identity(path: str, stream: str) -> tuple[int, int] | str | None:
    """Return a key that all names of a file or folder share, None for other types and missing files."""
    # ValueError: a stream without a descriptor, or a name that no file can have.
    with contextlib.suppress(OSError, ValueError):
        if path == "-":
            file: Any = getattr(sys, stream)
            status = None if file is None else os.fstat(file.fileno())
        else:
            status = os.stat(path)
        if status is not None and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            # Some file systems have no inode numbers; then only names can be compared.
            return (status.st_dev, status.st_ino) if status.st_ino else os.path.normcase(os.path.realpath(path))
    return None


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is written in place, not replaced: a pipe, a device, or an open file of a process.

    /dev/stdout may be a regular file; the process that opened it would not see a replacement.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    place = os.path.abspath(path)
    is_open = place.startswith(("/dev/fd/", "/proc/")) or place in ("/dev/stdin", "/dev/stdout", "/dev/stderr")
    return not stat.S_ISDIR(mode) and (is_open or not stat.S_ISREG(mode))


def write_atomically(path: str | os.PathLike[str], data: bytes | Iterable[Buffer], *, overwrite: bool = True) -> None:
    """Replace the content of a file with `data` (bytes, or chunks of bytes), atomically.

    The bytes are written to a new file in the same directory, which then gets the old one's name and mode. After any
    error, an OSError, the old file is unchanged. A symbolic link stays, and its target is replaced. Streams (see
    `is_stream`) are written directly. `overwrite=False` raises FileExistsError if the file exists and is not a stream.
    """
    check_name(path)
    if is_stream(path):
        with open(path, "wb", buffering=0) as file:
            _write_all(file.fileno(), data)
        return
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{show(path)} is a directory; give a file")
    if mode is not None and not overwrite:
        raise FileExistsError(f"{show(path)} exists")
    if mode is not None and not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"{show(path)} is read-only")
    target = os.path.realpath(path)
    with temporary_files.beside(target) as temporary:
        _write_new(temporary, data, mode)
        if overwrite:
            os.replace(temporary, target)
        else:
            put_new(temporary, target)
    _sync_directory(os.path.dirname(target))


def put_new(temporary: str, target: str) -> None:
    """Give a file a new name that must not exist yet; its old name may stay."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise FileExistsError(f"{show(target)} exists") from None
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # Another program may create the file between this check and the rename; without links, this cannot be
        # prevented.
        if os.path.lexists(target):
            raise FileExistsError(f"{show(target)} exists") from None
        os.replace(temporary, target)


def _write_new(path: str, data: bytes | Iterable[Buffer], mode: int | None) -> None:
    """Create a file with `data`, flushed to disk; with `mode` None, its mode follows the umask."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        _write_all(descriptor, data)
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(descriptor, stat.S_IMODE(mode))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes | Iterable[Buffer]) -> None:
    for part in [data] if isinstance(data, bytes) else data:
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _sync_directory(path: str) -> None:
    """Flush the new name to disk too, if the system can; the file is complete without this."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
