"""Refuses regular expressions that would take too much memory to compile or too much time to run.

What the `regex` package is given comes through here.
"""

from __future__ import annotations

import re
import time
from contextvars import ContextVar

from tokkit import limits
from tokkit.errors import PatternError

SECONDS_PER_MEGABYTE = 20.0
"""How much longer a pattern may take for a text of a million characters: some hundred times what a sound one does."""

_PARTS = re.compile(
    r"\\.|\[:\^?\w+:\]|\[\^?\]?|(?P<comment>\(\?#[^)]*\)?)|(?P<call>\(\?(?:R|[+-]?\d+|&\w+|P>\w+)\))|"
    r"\{(?P<minimum>\d*)(?:,(?P<maximum>\d*))?\}|.|\\",
    re.DOTALL,
)
_IN_CLASS = re.compile(r"\\.|\[:\^?\w+:\]|.", re.DOTALL)
_VERBOSE = re.compile(r"\(\?[A-Za-z0-9]*x")
_VERBOSE_COMMENT = re.compile(r"(?<!\\)#[^\n]*")


def check_size(pattern: str) -> None:
    r"""Raise PatternError for a pattern that is too large with its counted repeats written out, or that calls itself.

    >>> check_size(r"(?:a{2}){3}")
    """
    limit = limits.current().pattern_size
    # Whether classes nest, and what is a comment, flags decide that may be anywhere: the worst reading counts.
    readings = [pattern, _VERBOSE_COMMENT.sub("", pattern)] if _VERBOSE.search(pattern) else [pattern]
    for reading in readings:
        for nested in {False, "V1" in pattern}:
            if _size(reading, nested, limit) > limit:
                what = f"the pattern {quoted(pattern)} has over {limit:,} parts with its repeats written out"
                raise limits.exceeded("pattern_size", what, PatternError)


def _size(pattern: str, nested: bool, limit: int) -> int:
    """Return how many characters and classes a pattern is with its repeats written out; not beyond what `limit` is."""
    sizes, last, depth = [0], 0, 0  # of each open group; of what a repeat would repeat; how deep in a class
    at = 0
    while at < len(pattern) and sizes[-1] <= limit:
        match = (_IN_CLASS if depth else _PARTS).match(pattern, at)
        if match is None:  # never: each takes any character
            break
        part, at = match.group(), match.end()
        opens = part[0] == "[" and part[1:2] != ":"
        if depth:
            depth += (opens and nested) - (part == "]")
        elif match["call"]:
            raise PatternError(
                f"the pattern {quoted(pattern)} calls itself by {part!r}, which takes memory without a bound; "
                "write the repetition out"
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
    """Return a pattern for a message: its beginning where it is long."""
    return repr(pattern) if len(pattern) <= 200 else repr(pattern[:200]) + "…"


_shared: ContextVar[PatternTime | None] = ContextVar("shared", default=None)


class PatternTime:
    """Lets all patterns that run inside share the time of one text; inside another, that one holds.

    Only what patterns take counts, not what runs between them. It may be entered again and again.
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
        """Return the error of a pattern that was running when the time was over."""
        n, seconds = self._n_characters, self.seconds
        what = f"the pattern {quoted(pattern)} took over {seconds:.3g} s, the time for a text of {n:,} characters"
        return limits.exceeded("pattern_seconds", what, PatternError)


class MatchTimer:
    """One pattern that runs on a text: what it takes is spent, and a TimeoutError inside becomes a PatternError."""

    __slots__ = ("_began", "_pattern", "_time")

    def __init__(self, pattern: str, n_characters: int) -> None:
        self._pattern = pattern
        self._time = _shared.get() or PatternTime(n_characters)
        self._began = 0.0

    def __enter__(self) -> MatchTimer:
        self._began = time.monotonic()
        return self

    def remaining(self) -> float:
        """Return how many seconds the pattern may still take; TimeoutError if there are none."""
        left = self._time.seconds - self._time.spent - (time.monotonic() - self._began)
        if left <= 0:
            raise TimeoutError
        return left

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._time.spent += time.monotonic() - self._began
        if isinstance(error, TimeoutError):
            raise self._time.exceeded(self._pattern) from None
