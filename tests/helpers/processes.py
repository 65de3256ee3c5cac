"""Measures the processor time that a process takes to end after a signal, or to read its input."""

from __future__ import annotations

import array
import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import IO


def seconds_to_end(process: subprocess.Popen[bytes], number: int) -> float:
    """Send a signal, wait for the end; return the processor time from the one to the other, 0 where it is not told."""
    before = _of_children()
    told = 0.0
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        told = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    process.send_signal(number)
    process.wait()
    return _of_children() - before - told if told else 0.0


def _of_children() -> float:
    import resource  # of POSIX

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_until_read(pipe: IO[bytes], seconds: float = 600) -> None:
    """Return when the other end of a pipe has read all that was written."""
    import fcntl
    import termios

    left, latest = array.array("i", [1]), time.monotonic() + seconds
    while left[0]:
        assert time.monotonic() < latest, "nobody reads"
        time.sleep(0.01)
        fcntl.ioctl(pipe, termios.FIONREAD, left)
