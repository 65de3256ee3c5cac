"""Derives from a split pattern's automaton where any text may be cut without changing the matches.

A cut between a and b is safe if, whatever comes before a, no match attempt continues from a to b, and a match that ends
after a also ends there at the end of the text, and the reverse. Then every attempt that starts before the cut ends
there at the latest without seeing what follows, so the left part alone has the same matches as in the whole text. And
an attempt that starts at the cut must go on alike after a and at the start of a text.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit._core.split import SplitPattern
from tokkit.unicode_regex.atoms import (
    ATOM_RANGES,
    N_ATOMS,
    OTHER,
    CutRule,
    Matrix,
    for_all,
    never,
    nowhere,
)
from tokkit.unicode_regex.automaton import Automaton, of_pattern
from tokkit.unicode_regex.tables import sure_states
from tokkit.unicode_regex.tree import NotRegular


class PatternBoundaries(NamedTuple):
    """`splittable`: pairs of atoms that may be cut; `may`, `must`: atoms that can be, or always are, in a match."""

    splittable: Matrix
    may: NDArray[np.bool_]
    must: NDArray[np.bool_]


@functools.lru_cache(maxsize=64)
def pattern_boundaries(pattern: str) -> PatternBoundaries | None:
    r"""Return where a pattern allows cuts, None for a pattern that is not regular.

    >>> found = pattern_boundaries(r"\w+|[^\w\s]+")
    >>> bool(found.splittable[ord("a"), ord(" ")]), bool(found.splittable[ord("a"), ord("b")])
    (True, False)
    """
    try:
        automaton = of_pattern(pattern)
    except NotRegular:
        return None
    classes = _classes_of_atoms(automaton)
    splittable = for_all(classes, for_all(classes, _splittable(automaton)).T).T
    may_match, must_match = _matched(automaton)
    may, must = np.asarray((classes & may_match).any(axis=1)), np.asarray((classes <= must_match).all(axis=1))
    return PatternBoundaries(splittable, may, must)


def split_rule(pattern: str, behavior: int, *, invert: bool) -> CutRule:
    """Return the cut rule of a split at a pattern's matches; `behavior` is the number of a behavior in behaviors.py."""
    boundaries = pattern_boundaries(pattern)
    if boundaries is None:
        return never()
    may, must = (~boundaries.must, ~boundaries.may) if invert else (boundaries.may, boundaries.must)
    left_may, right_may, left_must, right_must = may[:, None], may[None, :], must[:, None], must[None, :]
    # Each match is a pretoken, and so is the text between two matches; a safe cut is never inside one.
    matched = boundaries.must[:, None] | boundaries.must[None, :]
    if behavior in (0, 1):  # removed, isolated
        dropped = left_must | right_must if behavior == 0 else np.zeros((1, 1), dtype=np.bool_)
        # If text between matches is dropped, all that is kept is a match.
        whole = invert and behavior == 0
        return CutRule(boundaries.splittable, boundaries.splittable & (matched | dropped | whole))
    if behavior == 2:  # merged with the previous one
        return CutRule(boundaries.splittable & ~right_may, nowhere())
    if behavior == 3:  # merged with the next one
        return CutRule(boundaries.splittable & ~left_may, nowhere())
    return CutRule(boundaries.splittable & ~(left_may & right_may), nowhere())


def _splittable(automaton: Automaton) -> NDArray[np.bool_]:
    """Return the pairs of classes between which no state continues: (classes, classes)."""
    following, final = automaton.next, automaton.final
    n = automaton.classes.n
    stops = (following < 0) & (final == final[:, -1:])  # (states, classes): same as at the end of the text
    splittable = np.ones((n, n), dtype=np.bool_)
    contexts = automaton.contexts
    for column in range(n):
        reached = np.unique(following[:, column])
        reached = reached[reached >= 0]
        begins = following[contexts.of_class[column], :n] == following[0, :n]
        splittable[column] = stops[reached, :n].all(axis=0) & begins
    return splittable


def _matched(automaton: Automaton) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the classes that can be in a match, and those that always are, because any text of them is matched."""
    n = automaton.classes.n
    may: NDArray[np.bool_] = np.asarray((automaton.next[:, :n] >= 0).any(axis=0))
    # If every attempt succeeds from its first character on, whatever follows, no text remains between matches.
    begins = automaton.next[: automaton.contexts.n, :n]
    covers = bool((sure_states(automaton)[begins] & (begins >= 0)).all())
    return may, np.full(n, covers, dtype=np.bool_)


def _classes_of_atoms(automaton: Automaton) -> NDArray[np.bool_]:
    """Return for each atom and class whether they share a character: (atoms, classes)."""
    bounds, numbers = automaton.classes.bounds, automaton.classes.numbers
    made = np.zeros((N_ATOMS, automaton.classes.n), dtype=np.bool_)

    def mark(atom: int, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        first = np.searchsorted(bounds, starts, side="right") - 1
        last = np.searchsorted(bounds, ends - 1, side="right")
        for a, b in zip(first.tolist(), last.tolist(), strict=True):
            made[atom, numbers[a:b]] = True

    ranges = {kind: np.array(found, dtype=np.int64) for kind, found in ATOM_RANGES.items()}
    taken = np.concatenate(list(ranges.values()))
    taken = taken[np.argsort(taken[:, 0])]
    starts = np.concatenate([[128], taken[:, 1] + 1])
    ends = np.concatenate([taken[:, 0], [0x110000]])
    kept = starts < ends
    ascii_ = np.arange(128)
    made[ascii_, numbers[np.searchsorted(bounds, ascii_, side="right") - 1]] = True
    mark(OTHER, starts[kept], ends[kept])
    for kind, found in ranges.items():
        mark(kind, found[:, 0], found[:, 1] + 1)
    return made


@functools.lru_cache(maxsize=256)
def chosen(pattern: str) -> SplitPattern | None:
    """Return the pattern compiled for the core, None for a pattern that is not regular."""
    from tokkit.unicode_regex.compile import compile_pattern

    try:
        return compile_pattern(pattern, keep_unmatched=False)
    except NotRegular:
        return None
