"""Ctrl-C ends the command line with exit code 130 and no traceback, at any moment of the process.

Only a command that is at work is to be cleared up behind: before and after it, and while modules are imported, where an
exception may be lost or turned into another, an interrupt ends the process at once.
"""

import os
import sys
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

# `signal` itself takes milliseconds to import, and nothing is handled in them. So do typing and contextlib.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

INTERRUPTED = 130  # 128 + SIGINT


def leave(*_: object) -> None:
    """End the process: nothing has begun, or all is done."""
    try:
        os.write(2, b"tokkit: interrupted\n")
    finally:  # stderr may be closed
        os._exit(INTERRUPTED)


def ends_the_process() -> None:
    """Let Ctrl-C end this process from now on; where it is ignored, as in the background of a shell, it stays so."""
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, leave)


class Raised:
    """A block in which Ctrl-C raises KeyboardInterrupt, if it would end the process; the block must handle it.

    What is raised in a finalizer, where Python would show it and go on, ends the process after all.
    """

    def __enter__(self) -> None:
        self._active = getsignal(SIGINT) is leave
        if self._active:
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._end
            signal(SIGINT, default_int_handler)

    def __exit__(self, kind: object, error: object, traceback: "TracebackType | None") -> None:
        if self._active:
            signal(SIGINT, leave)
            sys.unraisablehook = self._unraisable

    def _end(self, unraisable: "sys.UnraisableHookArgs") -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            leave()
        self._unraisable(unraisable)
