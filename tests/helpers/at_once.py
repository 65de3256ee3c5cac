"""Runs calls in threads that start at the same time, and returns their results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any


def at_once(calls: Sequence[Callable[[], Any]], *, times: int = 1) -> list[Any]:
    """Return what each call gave, made `times` times over; of one that raises, the exception, last."""
    met = threading.Barrier(len(calls))
    made: list[Any] = [None] * len(calls)

    def run(number: int) -> None:
        met.wait(timeout=600)
        try:
            for _ in range(times):
                made[number] = calls[number]()
        except Exception as error:
            made[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return made
