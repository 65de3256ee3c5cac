"""Runs work in several threads, and decides how many."""

from __future__ import annotations

import _thread
import contextlib
import contextvars
import os
from collections.abc import Callable

from tokkit.errors import OptionError

CHARACTERS_A_THREAD = 1 << 20
"""Characters of text per thread beyond the first. For less text, setting up the thread's cache costs more than the
thread gains (bench_encode, batch); if the tokenizer already has the cache, half of this is enough.
"""


def thread_count(threads: int | None, *, name: str = "threads") -> int:
    """Return how many threads to use: `threads`, else TOKKIT_NUM_THREADS, else the CPUs this process may use.

    `name` is the option's name in error messages.
    """
    if threads is None:
        setting = os.environ.get("TOKKIT_NUM_THREADS", "")
        if not setting:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if not setting.isdigit() or int(setting) < 1:
            raise OptionError(f"TOKKIT_NUM_THREADS is {setting!r}; it must be a number of at least 1")
        return int(setting)
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise OptionError(f"{name} is {threads!r}; it must be an int of at least 1, or None for all CPUs")
    return threads


def run_threads(work: Callable[[], None], threads: int, stop: Callable[[], None]) -> None:
    """Run `work` in this thread and in up to `threads - 1` others, until all have returned.

    On an error, `stop` is called, which must make the others return; it may be called several times. This thread does
    not wait for the others to start, which takes a quarter of a millisecond: it enters `work` first, so that it gets
    the same worker and cache at each call. A thread that starts after `work` is done does nothing.
    """
    errors: list[BaseException] = []
    running: list[_thread.LockType] = []
    closing = False

    def run() -> None:
        ended = _thread.allocate_lock()
        ended.acquire()
        running.append(ended)  # here, because an interrupt may come first to the thread that started this one
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
                ended.acquire(timeout=1)  # with a timeout, so that interrupts are handled

    try:
        for _ in range(threads - 1):
            _thread.start_new_thread(contextvars.copy_context().run, (run,))  # the same limits apply in the thread
        work()
        closing = True
        wait()
    except BaseException as error:
        errors.insert(0, error)
    closing = True
    while running:
        with contextlib.suppress(KeyboardInterrupt):  # the threads use memory that is freed next
            stop()
            wait()
    if errors:
        raise errors[0]
