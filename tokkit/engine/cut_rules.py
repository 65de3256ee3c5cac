"""Intersects the cut rules of all stages to one rule for the original text.

The rule of a stage is about the text before this stage. To apply it to the original text, the two characters at a cut
are followed through the earlier stages: what the last character before the cut and the first one after it may have
become. Where a pretokenizer always ends a pretoken, later stages see the parts separately in any case, and their rules
do not count. Where a stage drops the last character before the cut, it may drop all before it, and the part after the
cut is the first one of the text for later stages: there, these must treat its start as if it were inside the text.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.unicode_regex.atoms import (
    BLANK,
    HAN,
    LEADS,
    N_ATOMS,
    OTHER,
    WHITE,
    WHITES,
    Atoms,
    CutRule,
    Matrix,
    Tables,
    for_all,
    nowhere,
)

MAX_SETS = 8
"""Maximum number of classes of characters that a rule may distinguish on the left: the bits of a byte."""


class Composed(NamedTuple):
    """The table of all cuts, the table of cuts that always end words (None if there are none), and `edges`.

    `kept`: the atoms whose characters reach the model as they are, and between two of which no stage makes a cut or
    forbids one (uint8, one for each); None unless all characters beyond ASCII, or all but U+2581, are among them.
    """

    all: Tables | None
    of_words: Tables | None
    edges: int
    kept: NDArray[np.uint8] | None


class Inside(NamedTuple):
    """The first and the last characters with which a text is processed, from a stage on, as if it were inside one."""

    first: Atoms
    last: Atoms


ALL_INSIDE = Inside(np.ones(N_ATOMS, dtype=np.bool_), np.ones(N_ATOMS, dtype=np.bool_))


def compose(normalizers: Sequence[CutRule], pretokenizers: Sequence[CutRule], model: Matrix) -> Composed:
    """Return where all stages allow a cut of the original text.

    `model` has the pairs between which the model lets a pretoken be cut.
    """
    allowed, ends_word = model, nowhere()
    inside = ALL_INSIDE
    for number in range(len(pretokenizers) - 1, -1, -1):
        rule = pretokenizers[number]
        # A stage that prepends to each pretoken must see whole pretokens; only the first stage knows where a text
        # begins.
        own = nowhere() if rule.edges and number else rule.allowed
        always = rule.allowed & rule.boundary
        allowed = (own & _before(rule, allowed, inside)) | always
        ends_word = (own & _before(rule, ends_word, inside)) | always
    if pretokenizers:
        inside = _inside_before(pretokenizers[0], inside)
    for rule in reversed(normalizers):
        allowed = rule.allowed & _before(rule, allowed, inside)
        ends_word = rule.allowed & _before(rule, ends_word, inside)
        inside = _inside_before(rule, inside)
    edges = 0
    for rule in (*normalizers, *pretokenizers):
        edges |= rule.edges
    none = np.zeros(N_ATOMS, dtype=np.bool_)
    kept = [none if rule.kept is None else rule.kept for rule in (*normalizers, *pretokenizers)]
    common = np.logical_and.reduce([np.ones(N_ATOMS, dtype=np.bool_), *kept])
    keeps = common.astype(np.uint8) if np.delete(common, BLANK)[128:].all() else None
    return Composed(_tables(allowed), _tables(allowed & ends_word), edges, keeps)


def _before(rule: CutRule, allowed: Matrix, inside: Inside) -> Matrix:
    """Return the pairs before a stage that can only become pairs which are allowed after it."""
    if rule.last is None or rule.first is None:
        return allowed
    rows = for_all(rule.last, allowed)
    rows[rule.last.all(axis=1)] &= inside.first  # may be dropped, with all before it
    columns = for_all(rule.first, rows.T)
    columns[rule.first.all(axis=1)] &= _all_in(rule.last, inside.last)
    return columns.T


def _inside_before(rule: CutRule, inside: Inside) -> Inside:
    """Return the same for the text before a stage."""
    made = [_all_in(images, after) for images, after in zip((rule.first, rule.last), inside, strict=True)]
    return Inside(*(all_ if own is None else all_ & own for all_, own in zip(made, rule.as_inside, strict=True)))


def _all_in(images: Matrix | None, atoms: Atoms) -> Atoms:
    """Return the atoms that can only become some of `atoms`."""
    return atoms if images is None else for_all(images, atoms[:, None])[:, 0]


def _tables(allowed: Matrix) -> Tables | None:
    # White space belongs to the unit after it: fewer units are as good, and all trailing white space is in the last
    # unit.
    allowed = allowed.copy()
    allowed[[*WHITES, *range(0x1C, 0x20)]] = False
    allowed[:, [OTHER, WHITE, BLANK, LEADS]] = False
    rows = _kinds(allowed)
    if len(rows) > MAX_SETS:
        allowed = _coarser(allowed)
        rows = _kinds(allowed)
    if not len(rows):
        return None
    left, right = np.zeros(N_ATOMS, dtype=np.uint8), np.zeros(N_ATOMS, dtype=np.uint8)
    for number, row in enumerate(rows):
        left[(allowed == row).all(axis=1)] = 1 << number
        right[row] |= np.uint8(1 << number)
    return left, right


def _kinds(allowed: Matrix) -> Matrix:
    """Return the distinct rows that allow any cut."""
    kinds = {row.tobytes(): row for row in allowed}
    return np.array([kinds[key] for key in sorted(kinds) if any(key)], dtype=np.bool_).reshape(-1, N_ATOMS)


def _coarser(allowed: Matrix) -> Matrix:
    """Return the pairs that are allowed for all characters of a class on the left; there are few classes."""
    kinds = [string.ascii_letters, string.digits, ",.;:!?", "'\"()[]{}"]
    groups = [[ord(character) for character in kind] for kind in kinds]
    rest = set(range(128)).difference(*groups)
    made = nowhere()
    for group in (*groups, sorted(rest), [OTHER, LEADS, HAN], [BLANK]):
        made[group] = allowed[group].all(axis=0)
    return made
