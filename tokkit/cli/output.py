"""Writes results to stdout or to a file, which is replaced only once it is complete."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, cast

from tokkit.escaping import CONTROLS, show, visible

STDOUT = "-"


def stdout() -> BinaryIO:
    """Return standard output for bytes: data is UTF-8 in every locale."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    sys.stdout.flush()
    out: Any = sys.stdout.buffer
    if isinstance(out, io.RawIOBase):
        out = _Whole(out)
    return cast("BinaryIO", out)


class _Whole(io.RawIOBase):
    """Standard output under PYTHONUNBUFFERED, where `write` may write only a part of the data without an error."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def write(self, data: Any) -> int:
        """Write all of the data, or raise OSError."""
        left = memoryview(data).cast("B")
        total = len(left)
        while len(left):
            n = self._raw.write(left)
            if n is None:
                raise BlockingIOError(errno.EAGAIN, "standard output cannot take more data now")
            left = left[n:]
        return total


def say(text: str) -> None:
    """Write one line of text to stdout, with control characters escaped."""
    put(visible(text))


def put(text: str) -> None:
    """Write text to stdout that a terminal or a shell interprets, such as colours or scripts, unescaped."""
    stdout().write(text.encode() + b"\n")


def put_part(text: str) -> None:
    """Write part of a text to stdout, without a line end.

    At a terminal control characters are escaped, except tabs and line ends; a file or a pipe gets the text as it is.
    """
    out = stdout()
    if sys.stdout.isatty():
        text = visible(text, keep="\n\t")
    out.write(text.encode())


def say_json(value: object) -> None:
    """Write a value to stdout as one line of JSON; control characters are escaped."""
    put(as_json(value))


def as_json(value: object) -> str:
    """Return a value as one line of JSON; control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, singular or plural.

    >>> counted(1, "byte"), counted(2000, "byte")
    ('1 byte', '2,000 bytes')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def table(rows: Sequence[Sequence[Any]], left: Sequence[int] = (0,), margin: str = "") -> None:
    """Write rows as a table; the first row is the header, and columns are right-aligned except those in `left`."""
    texts = [[visible(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say((margin + "  ".join(cells)).rstrip())


def is_stream(path: str) -> bool:
    """Return whether a path is a pipe or a device, which is never replaced by a new file."""
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):
        return True
    with contextlib.suppress(OSError):
        mode = os.stat(path).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def check(path: str, *, force: bool) -> None:
    """Raise, before the work, the error that writing `path` would raise; UsageError if `path` is an input."""
    from tokkit.cli.inputs import given
    from tokkit.files.files import refuse_inputs

    refuse_inputs([path], given())
    shown = show(path)
    if path == STDOUT or is_stream(path):
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{shown} is a directory; name a file")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{shown} cannot be written: there is no directory {show(folder)}")
    if os.path.lexists(path) and not force:
        raise FileExistsError(f"{shown} exists; --force overwrites it")
    if not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise PermissionError(f"{shown} cannot be written: no permission")


@contextlib.contextmanager
def writing(path: str, *, force: bool) -> Iterator[BinaryIO]:
    """Open a file that gets its name only when it is complete; "-" (stdout), pipes and devices are written directly.

    OSError if the file exists and `force` is not set. After an error, an existing file is unchanged.
    """
    from tokkit.files import temporary_files

    check(path, force=force)
    if path == STDOUT:
        yield (out := stdout())
        out.flush()
        return
    if is_stream(path):
        with open(path, "wb") as file:
            yield file
        return
    target = os.path.realpath(path)
    with temporary_files.beside(target) as aside:
        with open(aside, "xb") as file:
            yield file
            file.flush()
            if os.path.exists(target):
                os.chmod(aside, stat.S_IMODE(os.stat(target).st_mode))
            os.fsync(file.fileno())
        check(path, force=force)
        os.replace(aside, target)
