"""Cuts a text that is generated token by token before a stop string, which may span several tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class StoppedText:
    """The text of a stream of ids, up to the first stop string.

    Text that may be the beginning of a stop string is held back until this is decided.

    >>> text = StoppedText(["Hello", " wo", "r", "ld"].__getitem__, lambda: "", ["world"])
    >>> [text.step(0), text.step(1), text.step(2), text.step(3)], text.stopped
    (['Hello', ' ', '', ''], True)
    """

    def __init__(self, step: Callable[[int], str], flush: Callable[[], str], stops: Sequence[str]) -> None:
        self._step, self._flush, self._stops = step, flush, stops
        self._held = ""
        self.stopped = False
        """Whether a stop string has come."""

    def step(self, id_: int) -> str:
        """Take an id, and return the text that can no longer change."""
        return self._certain(self._step(id_), last=False)

    def finish(self) -> str:
        """Return the rest of the text after the last id."""
        return self._certain(self._flush(), last=True)

    def _certain(self, new: str, *, last: bool) -> str:
        if self.stopped:
            return ""
        text = self._held + new
        found = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        kept = 0 if last else max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of a text that begins a stop string."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
