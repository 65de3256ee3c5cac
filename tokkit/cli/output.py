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
    """Return standard output for bytes: data is UTF-8 whatever the locale says."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    sys.stdout.flush()
    out: Any = sys.stdout.buffer
    if isinstance(out, io.RawIOBase):
        out = _Whole(out)
    return cast("BinaryIO", out)


class _Whole(io.RawIOBase):
    """Standard output under PYTHONUNBUFFERED, whose own `write` may take a part of the data and say nothing."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def write(self, data: Any) -> int:
        """Write all of the data; OSError where that cannot be."""
        left = memoryview(data).cast("B")
        total = len(left)
        while len(left):
            n = self._raw.write(left)
            if n is None:
                raise BlockingIOError(errno.EAGAIN, "standard output takes no more for now")
            left = left[n:]
        return total


def say(text: str) -> None:
    """Write a line of text to stdout: one, without a control character, whatever is in it."""
    put(visible(text))


def put(text: str) -> None:
    """Write what a terminal or a shell is to obey, colours and scripts, to stdout."""
    stdout().write(text.encode() + b"\n")


def say_json(value: object) -> None:
    """Write a value to stdout as one line of JSON: exactly, with control characters as JSON escapes them."""
    text = json.dumps(value, ensure_ascii=False)
    put(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def counted(n: int, noun: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "byte"), counted(2000, "byte")
    ('1 byte', '2,000 bytes')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def table(rows: Sequence[Sequence[Any]], left: Sequence[int] = (0,), margin: str = "") -> None:
    """Write rows as columns, the first row their heads; columns are flush right but those numbered in `left`."""
    texts = [[visible(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say((margin + "  ".join(cells)).rstrip())


def is_stream(path: str) -> bool:
    """Tell whether a path is a pipe or a device: written to as it is, never replaced."""
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):
        return True
    with contextlib.suppress(OSError):
        mode = os.stat(path).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def check(path: str, *, force: bool) -> None:
    """Raise the error now that writing `path` would raise after the work is done, or that it is an input."""
    from tokkit.cli.inputs import given
    from tokkit.formats.files import refuse_inputs

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
    """Open a file that takes its name only when all is written; "-" is stdout, pipes and devices are written to.

    OSError where the file exists and `force` is not set; whatever fails, an old file stays as it was.
    """
    from tokkit.formats import temporary_files

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
