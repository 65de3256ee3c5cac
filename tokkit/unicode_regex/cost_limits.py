"""Refuses regular expressions that would take too much memory to compile or too much time to run.

All patterns for the `regex` package pass through this module.
"""

from __future__ import annotations

import re
import time
from contextvars import ContextVar

from tokkit import limits
from tokkit.errors import PatternError

SECONDS_PER_MEGABYTE = 20.0
"""Additional seconds per million characters of text: some hundred times what a reasonable pattern takes."""

_PARTS = re.compile(
    r"\\.|\[:\^?\w+:\]|\[\^?\]?|(?P<comment>\(\?#[^)]*\)?)|(?P<call>\(\?(?:R|[+-]?\d+|&\w+|P>\w+)\))|"
    r"\{(?P<minimum>\d*)(?:,(?P<maximum>\d*))?\}|.|\\",
    re.DOTALL,
)
_IN_CLASS = re.compile(r"\\.|\[:\^?\w+:\]|.", re.DOTALL)
_VERBOSE = re.compile(r"\(\?[A-Za-z0-9]*x")
_VERBOSE_COMMENT = re.compile(r"(?<!\\)#[^\n]*")


def check_size(pattern: str) -> None:
    r"""Raise PatternError for a pattern that is too large after counted repeats are expanded, or that is recursive.

    >>> check_size(r"(?:a{2}){3}")
    """
    limit = limits.current().pattern_size
    # Flags, which may be anywhere, decide whether classes nest and what is a comment: the worst case counts.
    readings = [pattern, _VERBOSE_COMMENT.sub("", pattern)] if _VERBOSE.search(pattern) else [pattern]
    for reading in readings:
        for nested in {False, "V1" in pattern}:
            if _size(reading, nested, limit) > limit:
                what = f"the pattern {quoted(pattern)} has over {limit:,} parts after its repeats are expanded"
                raise limits.exceeded("pattern_size", what, PatternError)


def _size(pattern: str, nested: bool, limit: int) -> int:
    """Return the number of characters and classes of a pattern with repeats expanded; counting stops above `limit`."""
    sizes, last, depth = [0], 0, 0  # size of each open group; of the last item; nesting of classes
    at = 0
    while at < len(pattern) and sizes[-1] <= limit:
        match = (_IN_CLASS if depth else _PARTS).match(pattern, at)
        if match is None:  # cannot happen: the alternatives match any character
            break
        part, at = match.group(), match.end()
        opens = part[0] == "[" and part[1:2] != ":"
        if depth:
            depth += (opens and nested) - (part == "]")
        elif match["call"]:
            raise PatternError(
                f"the pattern {quoted(pattern)} is recursive, by {part!r}, which can take unlimited memory; write the "
                "repetition without recursion"
            )
        elif part == "(":
            sizes.append(0)
        elif part == ")" and len(sizes) > 1:
            last = max(sizes.pop(), 1)
            sizes[-1] += last
        elif match["minimum"] is not None:
            times = max(int(match["minimum"][:9] or 0), int((match["maximum"] or "")[:9] or 0), 1)
            sizes[-1] += last * (times - 1)
            last *= times
        elif part not in "*+?|" and not match["comment"]:
            depth, last = int(opens), 1
            sizes[-1] += 1
    return max(sizes)


def quoted(pattern: str) -> str:
    """Return a pattern for a message; of a long one, only the beginning."""
    return repr(pattern) if len(pattern) <= 200 else repr(pattern[:200]) + "…"


_shared: ContextVar[PatternTime | None] = ContextVar("shared", default=None)


class PatternTime:
    """A block in which all patterns share the time limit of one text; a nested block uses the outer one's time.

    Only the time in patterns counts, not the time between them. The object can be entered repeatedly.
    """

    __slots__ = ("_n_characters", "_outermost", "seconds", "spent")

    def __init__(self, n_characters: int) -> None:
        self._n_characters = n_characters
        self._outermost = False
        self.seconds = limits.current().pattern_seconds + SECONDS_PER_MEGABYTE * n_characters / 1e6
        self.spent = 0.0

    def __enter__(self) -> None:
        self._outermost = _shared.get() is None
        if self._outermost:
            _shared.set(self)

    def __exit__(self, *_raised: object) -> None:
        if self._outermost:
            _shared.set(None)

    def exceeded(self, pattern: str) -> PatternError:
        """Return the error for the pattern that was running when the time was used up."""
        n, seconds = self._n_characters, self.seconds
        what = f"the pattern {quoted(pattern)} took over {seconds:.3g} s, the limit for a text of {n:,} characters"
        return limits.exceeded("pattern_seconds", what, PatternError)


class MatchTimer:
    """A block that runs one pattern: it counts the time used, and turns a TimeoutError into a PatternError."""

    __slots__ = ("_began", "_pattern", "_time")

    def __init__(self, pattern: str, n_characters: int) -> None:
        self._pattern = pattern
        self._time = _shared.get() or PatternTime(n_characters)
        self._began = 0.0

    def __enter__(self) -> MatchTimer:
        self._began = time.monotonic()
        return self

    def remaining(self) -> float:
        """Return the seconds that the pattern may still take; TimeoutError if none are left."""
        left = self._time.seconds - self._time.spent - (time.monotonic() - self._began)
        if left <= 0:
            raise TimeoutError
        return left

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._time.spent += time.monotonic() - self._began
        if isinstance(error, TimeoutError):
            raise self._time.exceeded(self._pattern) from None
