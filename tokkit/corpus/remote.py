"""Reads files by URLs that fsspec supports, such as s3://bucket/part.jsonl."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from tokkit.errors import CorpusError, OptionError
from tokkit.escaping import show

_URL = re.compile(r"[a-z][a-z0-9+.-]+(?:::[a-z][a-z0-9+.-]+)*://", re.IGNORECASE)


def is_url(path: str) -> bool:
    """Return whether a path is a URL, not the name of a local file.

    >>> is_url("s3://bucket/a.txt"), is_url("a.txt")
    (True, False)
    """
    return _URL.match(path) is not None and not os.path.lexists(path)


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise OptionError(f"{show(url)}: URLs are read by fsspec: pip install 'pytokkit[data]'") from None
    try:
        return cast("tuple[Any, str]", fsspec.core.url_to_fs(url))
    except (ValueError, ImportError) as error:  # an unknown protocol, or a missing package
        raise OptionError(f"{show(url)} cannot be read: {error}") from None


def files(url: str, is_text: Callable[[str], bool]) -> list[str]:
    """Return the sorted URLs of the files that a URL, a glob or a folder names; in a folder, only text files."""
    system, path = _system(url)
    try:
        if re.search("[*?[]", path):
            found = [name for name in system.glob(path) if not system.isdir(name)]
        elif system.isdir(path):
            found = [name for name in system.find(path) if is_text(name)]
        else:
            found = [path] if system.exists(path) else []
    except OSError as error:
        raise CorpusError(f"{show(url)} cannot be read: {error}") from None
    if not found:
        raise CorpusError(f"no file matches {show(url):.200}")
    return [system.unstrip_protocol(name) for name in sorted(found)]


def size(url: str) -> int:
    """Return the size of a file in bytes, 0 if it is unknown."""
    system, path = _system(url)
    return int(system.info(path).get("size") or 0)


def state(url: str) -> str:
    """Return a value that changes whenever the file changes."""
    system, path = _system(url)
    return str(system.ukey(path))


def opened(url: str) -> BinaryIO:
    """Open a file for its bytes; CorpusError if it cannot be read."""
    system, path = _system(url)
    try:
        return cast("BinaryIO", system.open(path, "rb"))
    except OSError as error:
        raise CorpusError(f"{show(url)} cannot be read: {error.strerror or error}") from None
