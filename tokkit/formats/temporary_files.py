"""Names for files that are being written, and removal of those that killed writers left.

A name says for which file it is, and who writes: the place (host, boot and process namespace), the process and when
that began, so that a number that another process has by now is not mistaken for it. What was left is removed by the
next that writes the same file, and only where it is sure that its writer is gone: of a process elsewhere, of another
boot, or on a system that does not say where and when processes run (Windows), it stays.
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
"""The place of a process that cannot be told from those of other machines."""


def new(target: str, job: str | None = None) -> str:
    """Return a name beside `target` that no file has; `job` is the output that it belongs to, if it is one of several.

    `clear` finds it by the job.
    """
    began = _state_and_start("self") or ("", 0)
    owner = f"{_key(job or target)}-{_place()}-{os.getpid()}-{began[1]}"
    return os.path.join(os.path.dirname(target), f".tokkit-{owner}-{os.urandom(4).hex()}.tmp")


def clear(target: str) -> None:
    """Remove what writers of `target` left that are gone."""
    place, key, folder = _place(), _key(target), os.path.dirname(target)
    if place == NOWHERE:
        return
    # What cannot be removed, or even listed, was not asked for: the write itself will tell.
    with contextlib.suppress(OSError):
        for name in os.listdir(folder or os.curdir):
            found = _NAME.fullmatch(name)
            if found and found.group(1, 2) == (key, place) and not _is_alive(int(found[3]), int(found[4])):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


@contextlib.contextmanager
def beside(target: str) -> Iterator[str]:
    """Give a new name to write `target` under, whose file the block renames; else it is removed, and old ones first."""
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
    """Let an error of a disk without room say which file was being written: the system names none."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM and error.filename is None:
            error.filename = target
        raise


def _key(target: str) -> str:
    """Return what stands for a file of a folder; two that share it lose no more than what is left by the dead."""
    return f"{zlib.crc32(os.fsencode(os.path.basename(target))):08x}"


def _place() -> str:
    """Return what is equal for processes that see one another by their numbers, and for no others."""
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
        raise OSError("this system does not name its boot")
    return value.value.decode("ascii")


def _is_alive(number: int, began: int) -> bool:
    """Return whether a process of this place runs, or may run; `began` is 0 if that is not known."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's
        pass
    found = _state_and_start(str(number))
    if found is None:
        return True
    state, start = found
    return state not in ("Z", "X") and (began in (0, start))


def _state_and_start(process: str) -> tuple[str, int] | None:
    """Return the state of a process, a letter, and when it began, in ticks since the boot; None if /proc is not."""
    # A name may have any characters in it, but after its last parenthesis are fields.
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode("ascii"), int(fields[19])
    return None
