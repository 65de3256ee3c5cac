"""Which lines of tokkit follow which while something runs: the edges that Python targets count."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


class Arcs:
    """The pairs of lines, one executed after the other within a function, of all files below a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: dict[int, set[int]] = {}
        self._others: set[int] = set()
        # A code object is known by its address, for its own hash is slow: none may go away.
        self._held: list[CodeType] = []
        self.count = 0

    def run(self, function: Callable[[], Any]) -> int:
        """Call a function and return how many of the arcs that it took are new."""
        before = self.count
        sys.settrace(self._called)
        try:
            function()
        finally:
            sys.settrace(None)
        return self.count - before

    def _called(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        code = frame.f_code
        number = id(code)
        if number in self._others:
            return None
        seen = self._seen.get(number)
        if seen is None:
            self._held.append(code)
            if not code.co_filename.startswith(self._folder):
                self._others.add(number)
                return None
            seen = self._seen[number] = set()
        last = 0

        def line(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                arc = last << 16 | frame.f_lineno
                last = frame.f_lineno
                if arc not in seen:
                    seen.add(arc)
                    self.count += 1
            return line

        return line
