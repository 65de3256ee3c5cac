r"""Sets of code points by name: what `\p{L}`, `\s` or `[a-z]` contain, by Unicode 16.0.

General categories, white space and `\w` come from the tables of the core. All other sets that a pattern can name
(scripts, POSIX classes, case-insensitive sets) are taken from the `regex` package, by one test of all code points.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from tokkit._core.text import category_runs
from tokkit.unicode_regex.versions import CHANGED, UNASSIGNED, newer

LIMIT = 0x110000
CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    *("Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"),
)
"""Categories in the order of the core's table, which has two more for white space and line ends in Cc."""
WHITE_CONTROL, LINE_END = 30, 31
CIRCLED = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
r"""Letters in circles and squares: symbols with the property Alphabetic, therefore in \w."""
THIRD_CASES = {"k": 0x212A, "K": 0x212A, "s": 0x17F, "S": 0x17F, "i": 0x130, "I": 0x131}
"""Non-ASCII characters that `regex` folds with ASCII letters: Kelvin sign, long s, I with dot, i without dot."""


class CodePoints:
    """An immutable set of code points, stored as the sorted positions where membership changes."""

    __slots__ = ("bounds", "key")

    def __init__(self, bounds: NDArray[np.int64]) -> None:
        self.bounds = bounds
        self.key = bounds.tobytes()

    @classmethod
    def ranges(cls, ranges: Iterable[tuple[int, int]]) -> CodePoints:
        """Return the set of ranges (first, last).

        >>> 0x62 in CodePoints.ranges([(0x61, 0x63)]), 0x64 in CodePoints.ranges([(0x61, 0x63)])
        (True, False)
        """
        return cls.union(cls(np.array([first, last + 1], dtype=np.int64)) for first, last in ranges)

    @classmethod
    def of(cls, codes: Iterable[int]) -> CodePoints:
        """Return the set of some code points.

        >>> CodePoints.of([5, 3, 4, 9]).bounds.tolist()
        [3, 6, 9, 10]
        """
        points = np.array(sorted(codes), dtype=np.int64)
        begins = np.append(True, np.diff(points) > 1)[: len(points)]
        ends = np.append(begins[1:], True)[: len(points)]
        return cls(np.stack((points[begins], points[ends] + 1), axis=1).reshape(-1))

    @classmethod
    def union(cls, sets: Iterable[CodePoints]) -> CodePoints:
        """Return the set of all members, in the time of sorting, for classes of thousands of ranges.

        >>> CodePoints.union([CodePoints.ranges([(1, 3)]), CodePoints.ranges([(3, 5), (8, 8)])]).bounds.tolist()
        [1, 6, 8, 9]
        """
        bounds = np.concatenate([np.empty(0, dtype=np.int64), *(one.bounds for one in sets)])
        order = np.argsort(bounds, kind="stable")
        depth = np.cumsum(np.resize(np.array([1, -1]), len(bounds))[order])
        points = bounds[order]
        last = np.append(points[1:] != points[:-1], True)[: len(points)]
        points, member = points[last], depth[last] > 0
        return cls(points[np.flatnonzero(member != np.concatenate(([False], member))[:-1])])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodePoints) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __contains__(self, code_point: int) -> bool:
        return bool(self.at(np.array([code_point]))[0])

    def points(self) -> Iterator[int]:
        """Yield the members in ascending order.

        >>> list(CodePoints.ranges([(0x61, 0x62)]).points())
        [97, 98]
        """
        bounds = self.bounds.tolist()
        for start, end in zip(bounds[::2], bounds[1::2], strict=True):
            yield from range(start, end)

    def at(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of the points are members."""
        return (np.searchsorted(self.bounds, points, side="right") & 1).astype(np.bool_)

    def _with(self, other: CodePoints, keep: Callable[..., NDArray[np.bool_]]) -> CodePoints:
        # np.union1d would import numpy.ma, which takes a megabyte and 20 ms of the first load.
        points = np.sort(np.concatenate((self.bounds, other.bounds)))
        points = points[np.append(points[1:] != points[:-1], True)[: len(points)]]
        member = keep(self.at(points), other.at(points))
        return CodePoints(points[np.flatnonzero(member != np.concatenate(([False], member[:-1])))])

    def __or__(self, other: CodePoints) -> CodePoints:
        return self._with(other, np.logical_or)

    def __and__(self, other: CodePoints) -> CodePoints:
        return self._with(other, np.logical_and)

    def __xor__(self, other: CodePoints) -> CodePoints:
        return self._with(other, np.logical_xor)

    def __sub__(self, other: CodePoints) -> CodePoints:
        return self & ~other

    def __invert__(self) -> CodePoints:
        return self ^ ALL


ALL = CodePoints(np.array([0, LIMIT], dtype=np.int64))
NOTHING = CodePoints(np.array([], dtype=np.int64))


@functools.cache
def of_numbers(numbers: frozenset[int]) -> CodePoints:
    """Return the code points whose category has one of these numbers in the core's table."""
    starts, found = _runs()
    member = np.isin(found, list(numbers))
    return CodePoints(starts[np.flatnonzero(member != np.concatenate(([False], member[:-1])))].copy())


@functools.cache
def _runs() -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    starts, numbers = category_runs()
    return np.append(starts.astype(np.int64), LIMIT), np.append(numbers, np.uint8(255))  # the last run has no category


def is_category(name: str) -> bool:
    """Return whether this is the short name of a general category.

    >>> is_category("L"), is_category("lu"), is_category("Han")
    (True, True, False)
    """
    return any(name.capitalize() in (known, known[0]) for known in CATEGORIES)


def category(name: str) -> CodePoints:
    """Return a general category by its short name ("L", "lu").

    >>> ord("a") in category("L")
    True
    """
    name = name.capitalize()
    numbers = {n for n, known in enumerate(CATEGORIES) if name in (known, known[0])}
    if name in ("C", "Cc"):
        numbers |= {WHITE_CONTROL, LINE_END}
    return of_numbers(frozenset(numbers))


@functools.cache
def escape(letter: str) -> CodePoints:
    r"""Return what `\d`, `\s` or `\w` match; a capital letter is the complement.

    >>> 0x3000 in escape("s"), 0x3000 in escape("S")
    (True, False)
    """
    if letter.isupper():
        return ~escape(letter.lower())
    if letter == "d":
        return of_numbers(frozenset([CATEGORIES.index("Nd")]))
    if letter == "s":
        spaces = {n for n, name in enumerate(CATEGORIES) if name[0] == "Z"}
        return of_numbers(frozenset(spaces | {WHITE_CONTROL, LINE_END}))
    words = {n for n, name in enumerate(CATEGORIES) if name[0] in "LM" or name in ("Nd", "Nl", "Pc")}
    return of_numbers(frozenset(words)) | CodePoints.ranges([(0x200C, 0x200D), *CIRCLED])


def folded_ascii(points: CodePoints) -> CodePoints | None:
    """Return an ASCII set with both cases of its letters; None if the set is not ASCII.

    >>> 0x4B in folded_ascii(CodePoints.ranges([(0x6B, 0x6B)]))
    True
    """
    if points.bounds.size and points.bounds[-1] > 0x80:
        return None
    members = {chr(c) for c in range(0x80) if c in points}
    cased = {ord(c) for m in members for c in (m.lower(), m.upper())}
    third = {THIRD_CASES[m] for m in members & THIRD_CASES.keys()}
    return CodePoints.of(cased | third)


@functools.cache
def _everything() -> str:
    points = np.arange(LIMIT, dtype="<u4")
    points[0xD800:0xE000] = 0  # valid text has no surrogates
    return points.tobytes().decode("utf-32-le")


@functools.lru_cache(maxsize=256)
def ask(text: str, flags: str = "", *, versioned: bool = True) -> CodePoints:
    r"""Return the set that a one-character pattern matches in `regex`; ValueError if it refuses the pattern.

    `versioned`: characters newer than Unicode 16.0 are taken for unassigned ones; blocks have them in any case.

    >>> 0x4E00 in ask(r"\p{Han}"), 0x61 in ask(r"\p{Han}")
    (True, False)
    """
    import regex

    try:
        pattern = regex.compile(f"{flags}(?:{text})+", cache_pattern=False)
    except regex.error as error:
        raise ValueError(str(error)) from None
    runs = [match.span() for match in pattern.finditer(_everything())]
    found = CodePoints(np.array(runs, dtype=np.int64).reshape(-1))
    if not versioned:
        return found - category("Cs")
    for changed, alike in CHANGED.items():
        one = CodePoints.ranges([(changed, changed)])
        found = found | one if alike in found else found - one
    later = _later()
    return found | later if UNASSIGNED in found else found - later


@functools.cache
def _later() -> CodePoints:
    """Return the characters that `regex` has and Unicode 16.0 has not, and the surrogates, which no text has."""
    return CodePoints.of(code for code in newer().tolist() if code not in CHANGED) | category("Cs")
