"""Counts the work of a call: steps of the core's loops, and function calls in Python.

Where nothing is counted, the processor time of a call is compared with that of another, by ratios with wide margins:
no test says how fast a machine is.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

from tokkit._core import _shared

MAX_GROWTH = 2.6
"""The work of twice as much; some places wait for thousands of bytes before they begin to cut."""
FEW = 3000
"""The work of a call, whatever the text: the twice of nothing is nothing."""


@cache
def _counter() -> Callable[[], int]:
    """Return what tells how far the loops of the core have gone in this thread (csrc/work.c)."""
    counter = ctypes.CDLL(_shared.__file__).tk_work_done
    counter.restype = ctypes.c_uint64
    return counter


def work_of(call: Callable[..., object], *arguments: Any, **named: Any) -> int:
    """Return the work of one call."""
    calls = 0

    def count(_frame: FrameType, event: str, _what: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    counter = _counter()
    before = counter()
    sys.setprofile(count)
    try:
        call(*arguments, **named)
    finally:
        sys.setprofile(None)
    return calls + counter() - before


def processor_time(call: Callable[..., object], *arguments: Any, tries: int = 3) -> float:
    """Return the least processor time of this thread, in seconds, that some calls take."""
    times = []
    for _ in range(tries):
        start = time.thread_time()
        call(*arguments)
        times.append(time.thread_time() - start)
    return min(times)
