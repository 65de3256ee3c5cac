"""Case folding by Unicode 16.0: which characters are equal where a pattern ignores case.

Source: CaseFolding.txt of the Unicode Character Database (UAX #44), by its stable part that Python has, and by what
versions after 14.0 have added. Turkic mappings are not used: "i" and "I" match each other only.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tokkit.unicode_regex.code_points import CodePoints, category

_CASED_END = 0x1E944
_SINCE_14 = (
    *((0x10D50 + k, 0x10D70 + k) for k in range(22)),
    *((0x1C89, 0x1C8A), (0xA7CB, 0x264), (0xA7CC, 0xA7CD), (0xA7DA, 0xA7DB), (0xA7DC, 0x19B)),
    *((0x1FD3, 0x390), (0x1FE3, 0x3B0), (0xFB05, 0xFB06)),
)
"""Pairs of Unicode 15.0 to 16.0."""
_LAST_OF_16 = frozenset(range(0x10D50, 0x10D86)) | {c for pair in _SINCE_14 for c in pair}


@functools.cache
def _groups() -> Mapping[int, frozenset[int]]:
    """Return for each cased code point the characters that are equal to it, with itself."""
    unassigned = category("Cn")
    groups: dict[int, frozenset[int]] = {}

    def join(a: int, b: int) -> None:
        together = groups.get(a, frozenset([a])) | groups.get(b, frozenset([b]))
        groups.update(dict.fromkeys(together, together))

    for code in range(_CASED_END):
        character = chr(code)
        for other in (character.casefold(), character.lower()):
            if len(other) == 1 and other != character and code not in _LAST_OF_16:
                join(code, ord(other))
    for a, b in _SINCE_14:
        join(a, b)
    newer = {code for code in groups if unassigned is not None and code in unassigned}
    return {code: group - newer for code, group in groups.items() if code not in newer}


def folded(points: CodePoints) -> CodePoints:
    """Return a set with all characters that are equal to a member if case is ignored.

    >>> sorted(map(chr, folded(CodePoints.of([0x6B])).points())) == ["K", "k", "\u212a"]
    True
    """
    groups = _groups()
    cased = _cased()
    found = set(cased[points.at(cased)].tolist())
    more = {other for code in found for other in groups[code]} - found
    return points | CodePoints.of(more) if more else points


@functools.cache
def _cased() -> NDArray[np.int64]:
    return np.array(sorted(_groups()), dtype=np.int64)


@functools.cache
def full_folds() -> Mapping[str, frozenset[str]]:
    """Return the folds of several characters, each with the characters that fold to it: "ss" for ß and ẞ.

    >>> sorted(full_folds()["ss"]), len(full_folds())
    (['ß', 'ẞ'], 73)
    """
    found: dict[str, set[str]] = {}
    for code in range(0x80, 0xFB18):
        fold = chr(code).casefold()
        if len(fold) > 1:
            found.setdefault(fold, set()).add(chr(code))
    return {fold: frozenset(characters) for fold, characters in found.items()}


def representative(character: str) -> str:
    """Return the same character for all that are equal to each other."""
    return chr(min(_groups().get(ord(character), (ord(character),))))
