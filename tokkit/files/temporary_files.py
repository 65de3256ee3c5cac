"""Temporary names for files that are being written, and removal of files that killed writers did not remove.

A name identifies the target file and the writer: the place (host, boot and process namespace), the process id, and the
start time of the process, because process ids are reused. The next writer of the same file removes leftovers, but only
if their writer certainly does not run any more: leftovers of another host or boot, or on a system without this
information (Windows), are kept.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import zlib
from collections.abc import Iterator

_NAME = re.compile(r"\.tokkit-([0-9a-f]{8})-([0-9a-f]{16})-([0-9]{1,10})-([0-9]{1,20})-[0-9a-f]{8}\.tmp")
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
NOWHERE = "0" * 16
"""The place of a process on a system without this information."""


def new(target: str, job: str | None = None) -> str:
    """Return an unused name next to `target`; `job` is the output to which it belongs, if it is one of several files.

    `clear` finds the file by its job.
    """
    began = _state_and_start("self") or ("", 0)
    owner = f"{_key(job or target)}-{_place()}-{os.getpid()}-{began[1]}"
    return os.path.join(os.path.dirname(target), f".tokkit-{owner}-{os.urandom(4).hex()}.tmp")


def clear(target: str) -> None:
    """Remove files of terminated writers of `target`."""
    place, key, folder = _place(), _key(target), os.path.dirname(target)
    if place == NOWHERE:
        return
    # Errors are ignored here; if there is a problem, the write itself will raise it.
    with contextlib.suppress(OSError):
        for name in os.listdir(folder or os.curdir):
            found = _NAME.fullmatch(name)
            if found and found.group(1, 2) == (key, place) and not _is_alive(int(found[3]), int(found[4])):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


@contextlib.contextmanager
def beside(target: str) -> Iterator[str]:
    """Remove leftovers, then give a temporary name for `target`; the block must rename the file, else it is removed."""
    clear(target)
    name = new(target)
    try:
        with naming(target):
            yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


@contextlib.contextmanager
def naming(target: str) -> Iterator[None]:
    """Add the name of the file to errors of a full disk, because the system does not name it."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM and error.filename is None:
            error.filename = target
        raise


def _key(target: str) -> str:
    """Return a short key for a file of a folder; if two files share a key, only leftovers can be affected."""
    return f"{zlib.crc32(os.fsencode(os.path.basename(target))):08x}"


def _place() -> str:
    """Return a value that is equal for exactly those processes that can see each other's process ids."""
    parts: tuple[str, ...] = ()
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if sys.platform == "linux":
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                parts = (os.uname().nodename, file.read(), os.readlink("/proc/self/ns/pid"))
        elif sys.platform == "darwin":
            parts = (os.uname().nodename, _boot_of_darwin())
    if not parts:
        return NOWHERE
    from hashlib import blake2b

    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _boot_of_darwin() -> str:
    import ctypes

    value = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(value))
    if ctypes.CDLL(None).sysctlbyname(b"kern.bootsessionuuid", value, ctypes.byref(size), None, 0):
        raise OSError("this system does not identify its boot")
    return value.value.decode("ascii")


def _is_alive(number: int, began: int) -> bool:
    """Return whether a process of this place runs, or may run; `began` is 0 if unknown."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's process
        pass
    found = _state_and_start(str(number))
    if found is None:
        return True
    state, start = found
    return state not in ("Z", "X") and (began in (0, start))


def _state_and_start(process: str) -> tuple[str, int] | None:
    """Return the state of a process (a letter) and its start time in ticks since boot; None without /proc."""
    # The name may contain any characters; the fields come after the last parenthesis.
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode("ascii"), int(fields[19])
    return None
