"""The edges of tokkit's Python that something takes while it runs: what targets in Python count.

Where Python has `sys.monitoring` (3.12), an edge is a line that is reached, a way that a branch goes, or an instruction
that an exception passes. Each is watched only until it was seen, which makes most targets two to four times as fast as
a trace of every line; there, edges are pairs of consecutive lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


class TracedEdges:
    """The pairs of lines, one executed after the other within a function, of all files below a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: dict[int, set[int]] = {}
        self._others: set[int] = set()
        # A code object is known by its address, for its own hash is slow: none may go away.
        self._held: list[CodeType] = []
        self.count = 0

    def run(self, function: Callable[[], Any]) -> int:
        """Call a function and return how many of the edges that it took are new."""
        before = self.count
        sys.settrace(self._called)
        try:
            function()
        finally:
            sys.settrace(None)
        return self.count - before

    def stop(self) -> None:
        """Count no more."""
        sys.settrace(None)

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
                edge = last << 16 | frame.f_lineno
                last = frame.f_lineno
                if edge not in seen:
                    seen.add(edge)
                    self.count += 1
            return line

        return line


class MonitoredEdges:
    """The lines, ways of branches and instructions with an exception, of all files below a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: set[tuple[int, int]] = set()
        self._first_way: dict[tuple[int, int], int] = {}
        self._held: dict[int, CodeType] = {}  # by address, as above
        self.count = 0
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._tool = self._monitoring.PROFILER_ID
        self._monitoring.use_tool_id(self._tool, "tokkit fuzzing")
        events = self._monitoring.events
        callbacks = {events.LINE: self._line, events.RAISE: self._raised, events.BRANCH: self._branch}
        for event, callback in callbacks.items():
            self._monitoring.register_callback(self._tool, event, callback)
        self._monitoring.set_events(self._tool, sum(callbacks))

    def run(self, function: Callable[[], Any]) -> int:
        """Call a function and return how many of the edges that it took are new."""
        before = self.count
        function()
        return self.count - before

    def stop(self) -> None:
        """Count no more."""
        self._monitoring.set_events(self._tool, 0)
        self._monitoring.free_tool_id(self._tool)

    def _line(self, code: CodeType, line: int) -> Any:
        if code.co_filename.startswith(self._folder):
            self._held[id(code)] = code
            self.count += 1
        return self._monitoring.DISABLE  # each line is heard of once

    def _branch(self, code: CodeType, place: int, to: int) -> Any:
        at = (id(code), place)
        first = self._first_way.get(at)
        if first == to:
            return None  # the event is needed until the other way was taken
        if first is not None:
            self.count += 1
        elif code.co_filename.startswith(self._folder):
            self._held[id(code)] = code
            self._first_way[at] = to
            self.count += 1
            return None
        return self._monitoring.DISABLE

    def _raised(self, code: CodeType, place: int, error: BaseException) -> None:
        at = (id(code), place)
        if code.co_filename.startswith(self._folder) and at not in self._seen:
            self._held[id(code)] = code
            self._seen.add(at)
            self.count += 1


Edges = MonitoredEdges if hasattr(sys, "monitoring") else TracedEdges
