"""Cut rules over atoms, classes of characters: where each component allows a text to be cut.

A text may be cut between two characters if the parts, processed by themselves, give what the whole gives. A rule says
so by pairs of atoms: each ASCII character is one, and all others share five. The tables are those of
_core/csrc/split/cut_rule.h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

OTHER, WHITE, BLANK, LEADS, HAN = range(128, 133)
"""Beyond ASCII: what is none of the others; White_Space; U+2581; what joins the next character in a grapheme cluster
(Grapheme_Cluster_Break=Prepend); and Chinese characters as BERT has them."""
N_ATOMS = 133

Matrix = NDArray[np.bool_]
"""(N_ATOMS, N_ATOMS): of the character on the left, and of that on the right."""

AT_START, AT_END = 3, 4
"""Edges: the bits of csrc/encode/plan.h for a text's start and an added token's end, and for the end of either."""

WHITES = [9, 10, 11, 12, 13, 32, WHITE]
"""The atoms that are White_Space, all of each."""


Tables = tuple[NDArray[np.uint8], NDArray[np.uint8]]
"""`left` and `right` of csrc/split/cut_rule.h, uint8 (N_ATOMS,): a cut is allowed where they have a bit in common."""


class CutRule(NamedTuple):
    """Where a stage allows a cut.

    `allowed`: the stage gives the same for the parts. `boundary`: it also ends a pretoken there, whatever is around,
    so that stages after it see the parts apart anyway. `last` and `first`: what the last or first character of what
    an atom becomes may be; None if characters stay. `edges`: the first or last part of a text is another than one
    from its middle.
    """

    allowed: Matrix
    boundary: Matrix
    last: Matrix | None = None
    first: Matrix | None = None
    edges: int = 0


def everywhere() -> Matrix:
    """Return a matrix of all pairs."""
    return np.ones((N_ATOMS, N_ATOMS), dtype=np.bool_)


def nowhere() -> Matrix:
    """Return a matrix of no pair."""
    return np.zeros((N_ATOMS, N_ATOMS), dtype=np.bool_)


def never() -> CutRule:
    """Return the rule of a stage that needs the whole text."""
    return CutRule(nowhere(), nowhere())


def atom(character: str) -> int:
    """Return the atom of a character that is ASCII or U+2581; of others OTHER, which may be another's."""
    return ord(character) if character < "\x80" else BLANK if character == "\u2581" else OTHER


def images(of: Mapping[int, Iterable[int] | None]) -> Matrix:
    """Return what atoms become: those given, or any (None: also what is dropped); the others stay what they are."""
    made = np.eye(N_ATOMS, dtype=np.bool_)
    for source, targets in of.items():
        made[source] = targets is None
        if targets is not None:
            made[source, list(targets)] = True
    return made


def for_all(images: Matrix, allowed: Matrix) -> Matrix:
    """Return, for each row of `images`, what the rows of `allowed` that it marks, one at least, have in common."""
    atoms, marked = np.nonzero(images)
    rows = np.packbits(allowed, axis=1)[marked]
    common = np.bitwise_and.reduceat(rows, np.searchsorted(atoms, np.arange(len(images))), axis=0)
    return np.unpackbits(common, axis=1, count=allowed.shape[1]).view(np.bool_)


def by_character(function: Callable[[str], str], others: Mapping[int, Iterable[int] | None], edges: int = 0) -> CutRule:
    """Return the rule of a normalizer that changes ASCII by `function`, and looks at no other character for it.

    On the right of a cut stands ASCII, or what stays a Chinese character: nothing else is known to be independent of
    what comes before it.
    """
    last, first = dict(others), dict(others)
    for code in range(128):
        text = function(chr(code))
        last[code] = [atom(text[-1])] if text else None
        first[code] = [atom(text[0])] if text else None
    return CutRule(before_ascii(), nowhere(), images(last), images(first), edges)


def before_ascii() -> Matrix:
    """Return a matrix of all pairs with ASCII or a Chinese character on the right."""
    made = everywhere()
    made[:, [OTHER, WHITE, BLANK, LEADS]] = False
    return made


def split_at(must: NDArray[np.bool_], may: NDArray[np.bool_], behavior: int) -> CutRule:
    """Return the rule of a split at single characters: those of `must` match, those outside `may` do not.

    `behavior` is one of pretokenizers/behaviors.py by its number.
    """
    left_must, right_must = must[:, None], must[None, :]
    left_may, right_may = may[:, None], may[None, :]
    if behavior in (0, 1):  # removed, isolated
        return CutRule(everywhere(), left_must | right_must)
    if behavior == 2:  # merged with the previous one
        return CutRule(~right_may | left_must, left_must & everywhere())
    if behavior == 3:  # merged with the next one
        return CutRule(~left_may | right_must, right_must & everywhere())
    return CutRule(~(left_may & right_may), (left_must & ~right_may) | (~left_may & right_must))


def atoms_where(test: Callable[[str], bool], *others: int) -> NDArray[np.bool_]:
    """Return a mark for each ASCII character that passes a test, and for the other atoms given."""
    made = np.zeros(N_ATOMS, dtype=np.bool_)
    made[:128] = [test(chr(code)) for code in range(128)]
    made[list(others)] = True
    return made
