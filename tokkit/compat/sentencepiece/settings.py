"""Process-wide settings of sentencepiece: log level, threads, and the time limit of n-best segmentations."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterator
from operator import index

from tokkit.threads import thread_count

_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


def set_min_log_level(v: int) -> None:
    """Set the level of the logger "tokkit": 0 information, 1 warnings, 2 errors, 3 fatal errors."""
    logging.getLogger("tokkit").setLevel(_LEVELS[min(max(index(v), 0), len(_LEVELS) - 1)])


@contextlib.contextmanager
def min_log_level(v: int | None) -> Iterator[None]:
    """Set that level for a block; None leaves it."""
    named = logging.getLogger("tokkit")
    before = named.level
    try:
        if v is not None:
            set_min_log_level(v)
        yield
    finally:
        named.setLevel(before)


_nbest_ms = 30_000
"""Time limit of n-best segmentations in milliseconds, as in sentencepiece; 0 is no limit."""


def set_nbest_timeout(timeout_ms: int) -> None:
    """Set the time limit of n-best segmentations, after which only the best is returned; 0 is no limit."""
    global _nbest_ms
    _nbest_ms = index(timeout_ms)


def nbest_timeout() -> float:
    """Return the time limit in seconds, inf for no limit."""
    return _nbest_ms / 1000 if _nbest_ms > 0 else math.inf


class ThreadPool:
    """A number of threads for `thread_pool=`, which does not affect results; below 0: the number of CPUs."""

    def __init__(self, num_threads: int, /) -> None:
        n = index(num_threads)
        self._num_threads = thread_count(None) if n < 0 else max(n, 1)

    def num_threads(self) -> int:
        """Return the number of threads."""
        return self._num_threads
