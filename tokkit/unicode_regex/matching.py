"""Finds the matches of a pattern as tokenizers does, for normalizers and decoders."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tokkit._core.text import category_runs
from tokkit.definition import is_text
from tokkit.errors import OptionError, PatternError
from tokkit.unicode_regex import cost_limits

if TYPE_CHECKING:
    import regex
    from numpy.typing import NDArray

# One character or class, optionally repeated: the time is linear, and the time limit would make it ten times slower.
_LINEAR = re.compile(
    r"(?:\\[pP]\{\w+\}|\\[^pP]|\[\^?[^\[\]\\&~|-]+\]|[^\\\[\](){}|*+?.^$])(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})?",
    re.DOTALL,
)


UNASSIGNED = 0x3FFFF
"""A code point that no Unicode version assigns: `regex`, which has a newer version, gets it instead of newer ones."""
CHANGED = {0x295: 0x296}
"""Code points whose category in `regex` differs from Unicode 16.0 → a code point with the old category."""
_CN = 29
"""The number of unassigned code points in the core's table of categories."""
_NAMED = re.compile(r"\\[pPdDwWbB]|\[:")
_PARTS = re.compile(
    r"\\[pP]\{[^}]*\}|\\x(?P<x>[0-9A-Fa-f]{2})|\\u(?P<u>[0-9A-Fa-f]{4})|\\U(?P<U>[0-9A-Fa-f]{8})|\\.|(?P<one>.)",
    re.DOTALL,
)


@functools.cache
def _newer() -> NDArray[np.int64]:
    """Return the code points that differ between `regex` and Unicode 16.0, in order."""
    import regex

    starts, numbers = category_runs()
    bounds = [*starts.tolist(), 0x110000]
    known = regex.compile(r"\P{Cn}", cache_pattern=False)
    found = [*CHANGED]
    for at in np.flatnonzero(numbers == _CN).tolist():
        run = np.arange(bounds[at], bounds[at + 1], dtype="<u4").tobytes().decode("utf-32-le")
        found += [bounds[at] + match.start() for match in known.finditer(run)]
    return np.unique(found)


@functools.cache
def _blocks() -> NDArray[np.bool_]:
    """Return for each block of 64 code points whether it has newer ones."""
    blocks = np.zeros(0x110000 >> 6, dtype=np.bool_)
    blocks[_newer() >> 6] = True
    return blocks


@functools.lru_cache(maxsize=256)
def _pinned(pattern: str) -> bool:
    """Return whether a pattern names sets of characters, and contains no character of a newer Unicode itself."""
    if not _NAMED.search(pattern):
        return False
    return (pattern.isascii() and "\\u" not in pattern and "\\U" not in pattern) or not _has_newer(pattern)


def _has_newer(pattern: str) -> bool:
    newer, points = _newer(), []
    for match in _PARTS.finditer(pattern):
        code = match["x"] or match["u"] or match["U"]
        points.append(int(code, 16) if code else ord(match["one"]) if match["one"] else -1)
    ranges = [(point, point) for point in points]
    ranges += [(a, c) for a, b, c in zip(points, points[1:], points[2:], strict=False) if b == ord("-") and a >= 0]
    return any(np.searchsorted(newer, first) < np.searchsorted(newer, last, side="right") for first, last in ranges)


def check_version(pattern: str) -> None:
    r"""Raise PatternError for a pattern that `regex` cannot run by Unicode 16.0, which Oniguruma uses.

    >>> check_version(r"\p{L}+")
    """
    if _NAMED.search(pattern) and not _pinned(pattern):
        raise PatternError(
            f"the pattern {pattern!r} has named sets and characters that are newer than Unicode 16.0; such a mixture "
            "runs only in tokenizers"
        )


def as_of_version(pattern: str, text: str) -> str:
    """Return a text of the same length in which `regex` finds what the pattern matches by Unicode 16.0."""
    if text.isascii() or not _pinned(pattern):
        return text
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    newer = _newer()
    # Few blocks of 64 have any, so the block is looked up first, and then the code point.
    found = np.flatnonzero(_blocks()[points >> 6])
    # searchsorted, because the newer ones are sorted; numpy's isin would take milliseconds per text.
    at = np.minimum(np.searchsorted(newer, points[found]), len(newer) - 1)
    found = found[newer[at] == points[found]]
    if not len(found):
        return text
    changed = points.copy()
    changed[found] = [CHANGED.get(point, UNASSIGNED) for point in points[found].tolist()]
    return changed.tobytes().decode("utf-32-le", "surrogatepass")


@functools.lru_cache(maxsize=64)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern; PatternError if `regex` refuses it."""
    import regex

    cost_limits.check_size(pattern)
    try:
        return regex.compile(pattern)
    except (regex.error, ValueError) as error:  # ValueError: flags that exclude each other
        raise PatternError(f"the pattern {pattern!r} does not compile: {error}") from None
    except RecursionError:
        raise PatternError(f"the pattern {cost_limits.quoted(pattern)} is nested too deep") from None


def checked_pattern(given: object) -> dict[str, str]:
    """Check {"String": text} or {"Regex": pattern} and return it; OptionError or PatternError if it is invalid."""
    kinds = list(given) if isinstance(given, Mapping) else []
    if not isinstance(given, Mapping) or kinds not in (["String"], ["Regex"]):
        raise OptionError(f'pattern is {given!r}; it must be {{"String": text}} or {{"Regex": pattern}}')
    kind, text = kinds[0], given[kinds[0]]
    if not is_text(text):
        raise OptionError(f"{kind} is {text!r}; it must be text")
    if kind == "Regex":
        compiled(text)
        check_version(text)
    return {kind: text}


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each match of a regular expression; PatternError if finding them takes too long."""
    found_by = compiled(pattern)
    text = as_of_version(pattern, text)
    found: list[tuple[int, int]] = []
    at, last = 0, -1
    watched = not _LINEAR.fullmatch(pattern)
    with cost_limits.MatchTimer(pattern, len(text)) as running:
        for match in found_by.finditer(text, timeout=running.remaining() if watched else None):
            if match.start() == match.end():
                break
            found.append(match.span())
            at = last = match.end()
        else:
            return found
        # Oniguruma continues at the end of a match, where it skips an empty match; finditer has other rules.
        while at <= len(text):
            match = found_by.search(text, at, timeout=running.remaining() if watched else None)
            if not match:
                break
            start, end = match.span()
            if start == end == last:
                at = end + 1
                continue
            found.append((start, end))
            at = last = end
    return found
