"""Finds published files on this machine and checks their SHA-256.

It searches, in this order: a given path, the working directory, TOKKIT_DATA_DIR, TIKTOKEN_CACHE_DIR (where tiktoken
stores files under the SHA-1 of their address), and the user's cache. A file must have the published SHA-256, so its
origin does not matter.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from tokkit.errors import FormatError
from tokkit.files.files import naming, read_bytes, show
from tokkit.registry.encodings import Source


def user_cache() -> Path:
    """Return the folder for downloads, which may not exist yet: TOKKIT_CACHE_DIR, or the system's cache folder."""
    if chosen := os.environ.get("TOKKIT_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tokkit" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tokkit"
    base = os.environ.get("XDG_CACHE_HOME", "")  # its specification says to ignore relative paths
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "tokkit"


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can read; an existing folder of ours gets the same permissions."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix":
        status = folder.stat()
        if stat.S_IMODE(status.st_mode) & 0o077 and status.st_uid == os.geteuid():
            folder.chmod(0o700)


def places(source: Source, path: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Yield the candidate paths of a file; if `path` (the file or its folder) is given, only that."""
    if path is not None:
        given = Path(path)
        yield given / source.file if given.is_dir() else given
        return
    yield Path(source.file)
    if data := os.environ.get("TOKKIT_DATA_DIR"):
        yield Path(data) / source.file
    if tiktokens := os.environ.get("TIKTOKEN_CACHE_DIR"):
        yield Path(tiktokens) / hashlib.sha1(source.url.encode(), usedforsecurity=False).hexdigest()
        yield Path(tiktokens) / source.file
    yield user_cache() / source.file


def find(source: Source, path: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the first candidate path that exists; None if there is none."""
    return next((place for place in places(source, path) if place.is_file()), None)


def read(source: Source, place: Path) -> bytes:
    """Return the bytes of the file; FormatError with both hashes if it is not the published file."""
    with naming(place):
        data = read_bytes(place)
    found = hashlib.sha256(data).hexdigest()
    if found != source.sha256:
        raise FormatError(
            f"{show(place)}: this is not the published {source.file}: its sha256 is {found}; it must be "
            f"{source.sha256}. The file was changed or truncated: remove it, and fetch it again"
        )
    return data
