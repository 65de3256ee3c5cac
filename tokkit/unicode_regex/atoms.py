"""Cut rules over atoms, classes of characters: where each component allows a text to be cut.

A text may be cut between two characters if processing the parts separately gives the same result as processing the
whole. A rule says this for pairs of atoms: each ASCII character is an atom, and all other characters share five atoms.
The tables are those of _core/csrc/split/cut_rule.h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

OTHER, WHITE, BLANK, LEADS, HAN = range(128, 133)
"""Atoms beyond ASCII: all other characters; White_Space; U+2581; characters that form a grapheme cluster with the next
one (Grapheme_Cluster_Break=Prepend); and Chinese characters by BERT's definition.
"""
N_ATOMS = 133
ATOM_RANGES: dict[int, list[tuple[int, int]]] = {
    WHITE: [
        (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
        (0x205F, 0x205F), (0x3000, 0x3000),
    ],
    BLANK: [(0x2581, 0x2581)],
    LEADS: [
        (0x600, 0x605), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0xD4E, 0xD4E),
        (0x11000, 0x11FFF),
    ],
    HAN: [
        (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F),
        (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
    ],
}  # fmt: skip
"""The characters of the atoms beyond ASCII, as (first, last) of each range, the same as in csrc/split/cut_units.c."""

Matrix = NDArray[np.bool_]
"""(N_ATOMS, N_ATOMS): the atom left of the cut, and the atom right of it."""

Atoms = NDArray[np.bool_]
"""(N_ATOMS,): a set of atoms."""

AT_START, AT_END = 3, 4
"""Edges: the bits of csrc/encode/plan.h for the start of a text or after an added token, and for the end of either."""

WHITES = [9, 10, 11, 12, 13, 32, WHITE]
"""The atoms that consist only of White_Space."""


Tables = tuple[NDArray[np.uint8], NDArray[np.uint8]]
"""`left` and `right` of csrc/split/cut_rule.h, uint8 (N_ATOMS,): a cut is allowed where they share a bit."""


class CutRule(NamedTuple):
    """The cut rule of a stage: where it allows a cut.

    `allowed`: pairs where the parts give the same result. `boundary`: pairs where a pretoken always ends too, so that
    later stages see separate parts in any case. `last` and `first`: the atoms that the last or first character of an
    atom's replacement may be; None if characters do not change. `edges`: whether the first or last part of a text is
    processed differently from parts in its middle. `as_inside`: the first characters, and the last ones, with which it
    is not, for every text; None stands for all. `kept`: the atoms whose characters the stage leaves as they are, and
    between two of which it allows a cut and makes none itself; None stands for no atom.
    """

    allowed: Matrix
    boundary: Matrix
    last: Matrix | None = None
    first: Matrix | None = None
    edges: int = 0
    as_inside: tuple[Atoms | None, Atoms | None] = (None, None)
    kept: Atoms | None = None


def everywhere() -> Matrix:
    """Return a matrix that allows all pairs."""
    return np.ones((N_ATOMS, N_ATOMS), dtype=np.bool_)


def nowhere() -> Matrix:
    """Return a matrix that allows no pair."""
    return np.zeros((N_ATOMS, N_ATOMS), dtype=np.bool_)


def never() -> CutRule:
    """Return the rule of a stage that needs the whole text."""
    return CutRule(nowhere(), nowhere())


def atom(character: str) -> int:
    """Return the atom of a character."""
    code = ord(character)
    if code < OTHER:
        return code
    found = (kind for kind, ranges in ATOM_RANGES.items() for first, last in ranges if first <= code <= last)
    return next(found, OTHER)


def images(of: Mapping[int, Iterable[int] | None]) -> Matrix:
    """Return what atoms become: those in the mapping become what it says (None: anything, or dropped); others stay."""
    made = np.eye(N_ATOMS, dtype=np.bool_)
    known = [(source, target) for source, targets in of.items() for target in targets or ()]
    made[list(of)] = False
    made[[source for source, targets in of.items() if targets is None]] = True
    made[[source for source, _ in known], [target for _, target in known]] = True
    return made


def for_all(images: Matrix, allowed: Matrix) -> Matrix:
    """Return, for each row of `images`, the intersection of the rows of `allowed` that it marks (at least one)."""
    atoms, marked = np.nonzero(images)
    rows = np.packbits(allowed, axis=1)[marked]
    common = np.bitwise_and.reduceat(rows, np.searchsorted(atoms, np.arange(len(images))), axis=0)
    return np.unpackbits(common, axis=1, count=allowed.shape[1]).view(np.bool_)


def by_character(function: Callable[[str], str], others: Mapping[int, Iterable[int] | None], edges: int = 0) -> CutRule:
    """Return the rule of a normalizer that changes ASCII characters by `function`, independent of their neighbours.

    The character right of a cut must be ASCII, or a Chinese character that stays one: only these are known not to
    depend on what comes before.
    """
    last, first = dict(others), dict(others)
    for code in range(128):
        text = function(chr(code))
        last[code] = [atom(text[-1])] if text else None
        first[code] = [atom(text[0])] if text else None
    return CutRule(before_ascii(), nowhere(), images(last), images(first), edges)


def before_ascii() -> Matrix:
    """Return a matrix that allows all pairs with ASCII or a Chinese character on the right."""
    made = everywhere()
    made[:, [OTHER, WHITE, BLANK, LEADS]] = False
    return made


def split_at(must: Atoms, may: Atoms, behavior: int) -> CutRule:
    """Return the rule of a split at single characters: those in `must` always match, those outside `may` never.

    `behavior` is the number of a behavior in pretokenizers/behaviors.py.
    """
    left_must, right_must = must[:, None], must[None, :]
    left_may, right_may = may[:, None], may[None, :]
    if behavior in (0, 1):  # removed, isolated
        return CutRule(everywhere(), left_must | right_must, kept=~may)
    if behavior == 2:  # merged with the previous one
        return CutRule(~right_may | left_must, left_must & everywhere(), kept=~may)
    if behavior == 3:  # merged with the next one
        return CutRule(~left_may | right_must, right_must & everywhere(), kept=~may)
    return CutRule(~(left_may & right_may), (left_must & ~right_may) | (~left_may & right_must), kept=~may)


def atoms_where(test: Callable[[str], bool], *others: int) -> Atoms:
    """Return the set of atoms (bool per atom) of the ASCII characters that pass a test, and the other atoms given."""
    made = np.zeros(N_ATOMS, dtype=np.bool_)
    made[:128] = [test(chr(code)) for code in range(128)]
    made[list(others)] = True
    return made
