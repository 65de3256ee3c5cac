"""Writes the results of threads in the order of their numbers, whichever is ready first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

PAUSE = 0.001
"""Seconds after which a thread that is too far ahead checks again whether it may continue."""


class Turns:
    """Passes the results of threads to `write` in the order of their numbers; `keep` copies one that must wait.

    An interrupt may reach the main thread anywhere. `with` on a plain lock always releases it; a Condition would stay
    locked forever if the interrupt came while it is acquired. Therefore a thread that is too far ahead polls.
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
        """Write a result, or leave it for the thread whose turn comes first; return whether to continue."""
        while number - self._turn > self._max_ahead and not self._stopped:
            time.sleep(PAUSE)
        with self._lock:
            if self._stopped:
                return False
            if number != self._turn:
                self._waiting[number] = result if self._keep is None else self._keep(result)
                return True
        # Only this thread has the turn until `turn` advances.
        while result is not None:
            self._write(result)
            with self._lock:
                self._turn += 1
                result = self._waiting.pop(self._turn, None)
        return True

    def stop(self) -> None:
        """Make `put` return False in all threads, including waiting ones."""
        self._stopped = True
