"""Runs work in several threads, and decides how many."""

from __future__ import annotations

import _thread
import contextlib
import contextvars
import os
from collections.abc import Callable

from tokkit.errors import OptionError

CHARACTERS_A_THREAD = 1 << 20
"""Text for each thread beyond the first: with less, setting up its cache costs more than it gains (bench_encode,
batch); a tokenizer that has the cache already gains from half of this on."""


def thread_count(threads: int | None) -> int:
    """Return how many threads to use: `threads`, else TOKKIT_NUM_THREADS, else the CPUs this process may use."""
    if threads is None:
        setting = os.environ.get("TOKKIT_NUM_THREADS", "")
        if not setting:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if not setting.isdigit() or int(setting) < 1:
            raise OptionError(f"TOKKIT_NUM_THREADS is {setting!r}; it must be a number of at least 1")
        return int(setting)
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise OptionError(f"threads is {threads!r}; it must be an int of at least 1, or None for all CPUs")
    return threads


def run_threads(work: Callable[[], None], threads: int, stop: Callable[[], None]) -> None:
    """Run `work` in this thread and up to `threads - 1` others until all have returned; on an error, `stop` makes them.

    Nobody waits for the others to begin, which takes a quarter of a millisecond: this thread is in `work` first, so
    that what is its own (a worker, its cache) is its own the next time; and who comes when it is done does nothing.
    `stop` may be called several times.
    """
    errors: list[BaseException] = []
    running: list[_thread.LockType] = []
    closing = False

    def run() -> None:
        ended = _thread.allocate_lock()
        ended.acquire()
        running.append(ended)  # here: the thread that started this one may be interrupted before it knows
        try:
            if not closing:
                work()
        except BaseException as error:
            errors.append(error)
            stop()
        finally:
            running.remove(ended)
            ended.release()

    def wait() -> None:
        while running:
            for ended in list(running):
                ended.acquire(timeout=1)  # an interrupt may come between this and the next look

    try:
        for _ in range(threads - 1):
            _thread.start_new_thread(contextvars.copy_context().run, (run,))  # limits that hold here hold there
        work()
        closing = True
        wait()
    except BaseException as error:
        errors.insert(0, error)
    closing = True
    while running:
        with contextlib.suppress(KeyboardInterrupt):  # they use what is freed next
            stop()
            wait()
    if errors:
        raise errors[0]
