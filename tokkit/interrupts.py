"""Ctrl-C ends the command line with exit code 130 and no traceback, at any moment of the process.

Only a running command has anything to clean up. Before and after it, and during imports, where an exception could be
lost or replaced by another, an interrupt ends the process at once.
"""

import os
import sys
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

# `signal`, typing and contextlib take milliseconds to import, in which Ctrl-C is not handled.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

INTERRUPTED = 130  # 128 + SIGINT


def leave(*_: object) -> None:
    """End the process at once; there is nothing to clean up."""
    try:
        os.write(2, b"tokkit: interrupted\n")
    finally:  # stderr may be closed
        os._exit(INTERRUPTED)


def ends_the_process() -> None:
    """Let Ctrl-C end this process from now on, unless SIGINT is ignored, as in background jobs of a shell."""
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, leave)


class Raised:
    """A block in which Ctrl-C raises KeyboardInterrupt instead of ending the process; the block must handle it.

    A KeyboardInterrupt raised in a finalizer, which Python would print and ignore, still ends the process.
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
