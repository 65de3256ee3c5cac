"""Puts the results of threads in order: whichever is ready first, they are written by their numbers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

PAUSE = 0.001
"""Seconds after which a thread that is too far ahead looks again whether it may go on."""


class Turns:
    """Hands the results of threads to `write` in the order of their numbers; `keep` copies one that must wait.

    An interrupt may reach the main thread anywhere. `with` on a plain lock leaves it free then; a Condition would stay
    locked for ever if it came while the lock was being taken. So a thread that is too far ahead looks again and again.
    """

    def __init__(
        self, write: Callable[[Any], object], max_ahead: int, keep: Callable[[Any], Any] | None = None
    ) -> None:
        self._write, self._max_ahead, self._keep = write, max_ahead, keep
        self._lock = threading.Lock()
        self._turn = 0
        self._waiting: dict[int, Any] = {}
        self._stopped = False

    def put(self, number: int, result: Any) -> bool:
        """Write a result, or leave it for the thread whose turn comes before; return whether to go on."""
        while number - self._turn > self._max_ahead and not self._stopped:
            time.sleep(PAUSE)
        with self._lock:
            if self._stopped:
                return False
            if number != self._turn:
                self._waiting[number] = result if self._keep is None else self._keep(result)
                return True
        # It is the turn of this thread alone until the turn moves on.
        while result is not None:
            self._write(result)
            with self._lock:
                self._turn += 1
                result = self._waiting.pop(self._turn, None)
        return True

    def stop(self) -> None:
        """Make `put` return False in all threads, also in those that wait."""
        self._stopped = True
