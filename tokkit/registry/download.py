"""Downloads a published file into a folder, and checks that it has the pinned SHA-256."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tokkit.errors import DownloadError, OptionError
from tokkit.files.files import write_atomically
from tokkit.registry import local_files
from tokkit.registry.encodings import Source

if TYPE_CHECKING:
    from http.client import HTTPResponse

PATIENCE = 30.0
"""Seconds without a byte after which a download fails."""
MIN_RATE = 1000
"""Bytes per second, averaged over the file, below which a download fails; slow connections are 100 times faster."""
CHUNK = 1 << 16


def offline() -> bool:
    """Return whether TOKKIT_OFFLINE forbids network access."""
    return os.environ.get("TOKKIT_OFFLINE", "") not in ("", "0")


def refuse_offline(what: str) -> None:
    """Raise DownloadError if TOKKIT_OFFLINE forbids downloads."""
    if offline():
        raise DownloadError(
            f"{what} is not on this machine, and TOKKIT_OFFLINE={os.environ['TOKKIT_OFFLINE']} forbids downloads; "
            "unset it, or put the file into TOKKIT_DATA_DIR"
        )


def fetch(
    source: Source,
    folder: Path,
    *,
    mirror: str | None = None,
    patience: float = PATIENCE,
    progress: Callable[[int, int], object] | None = None,
) -> Path:
    """Download a file into a folder and return its path; after a DownloadError, no partial file is left.

    `mirror` is an address with the file under its name, instead of the publisher's; the SHA-256 must be the same.
    `patience` is the time to wait for the server, in seconds; `progress(done, total)` gets bytes. Two processes may do
    this at the same time: each writes its own file, which gets the name when it is complete.
    """
    refuse_offline(source.file)
    url = source.url if mirror is None else f"{mirror.rstrip('/')}/{source.file}"
    if not url.startswith(("https://", "http://")):
        raise OptionError(f"mirror is {mirror!r}; it must be an address that begins with https:// or http://")
    data = bytearray()
    for part in _parts(url, source, patience):
        data += part
        if progress is not None:
            progress(len(data), source.n_bytes)
    found = hashlib.sha256(data).hexdigest()
    if len(data) < source.n_bytes:
        raise DownloadError(f"{url}: the download ended after {len(data):,} of {source.n_bytes:,} bytes")
    if found != source.sha256:
        raise DownloadError(f"{url}: the file's sha256 is {found}; it must be {source.sha256}; the file was not kept")
    local_files.make_private(folder)
    target = folder / source.file
    write_atomically(target, bytes(data))
    return target


def _parts(url: str, source: Source, patience: float) -> Iterator[bytes]:
    """Yield the bytes that a server sends, at most one more than the file's size."""
    import http.client
    import urllib.error
    import urllib.request

    from tokkit.version import __version__

    request = urllib.request.Request(url, headers={"User-Agent": f"tokkit/{__version__}"})
    latest = time.monotonic() + patience + source.n_bytes / MIN_RATE
    try:
        with urllib.request.urlopen(request, timeout=patience) as response:
            yield from _read(response, source.n_bytes + 1, latest)
    except urllib.error.HTTPError as error:
        raise DownloadError(f"{url}: the server answers {error.code} {error.reason}") from None
    except TimeoutError:
        raise DownloadError(f"{url}: no answer within {patience:g} s, or the download is far too slow") from None
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, TimeoutError):
            raise DownloadError(f"{url}: no answer within {patience:g} s") from None
        raise DownloadError(f"{url}: {reason}") from None


def _read(response: HTTPResponse, limit: int, latest: float) -> Iterator[bytes]:
    while limit > 0 and (part := response.read1(min(CHUNK, limit))):  # read() would wait until the chunk is full
        if time.monotonic() > latest:
            raise TimeoutError
        limit -= len(part)
        yield part
