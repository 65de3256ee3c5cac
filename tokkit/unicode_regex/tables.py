"""Packs an automaton into the tables that the core runs: see csrc/split/dfa.h.

The loop takes each character once: where a match is over, the row of the next one is entered at once, and where none
can begin, the row `gap`. A state is sure if a match ends now or later whatever the text: then nothing need be written
down on the way, and the end that the automaton comes to is the end of the match.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit._core.split import SplitPattern
from tokkit.unicode_regex.automaton import Automaton, Classes
from tokkit.unicode_regex.code_points import LIMIT

END, DROP, MARK, BACK, TRY = 1, 2, 4, 8, 16
"""What a row does on a class besides going on, by the numbers of csrc/split/dfa.h."""
START, GAP = 0, 1


def tables(automaton: Automaton, *, keep_unmatched: bool) -> SplitPattern:
    """Return what the core runs."""
    # States are renumbered: the start, the gap, those that are sure, and then the others.
    sure = sure_states(automaton)
    states = len(sure)
    order = np.array([0, *(1 + np.flatnonzero(sure[1:])), *(1 + np.flatnonzero(~sure[1:]))], dtype=np.int64)
    row_of = np.empty(states + 1, dtype=np.int64)
    row_of[order] = np.arange(states) + 1
    row_of[0], row_of[-1] = START, -1  # -1 is not a state
    unsure = 2 + int(sure[1:].sum())

    following, final = row_of[automaton.next[order]], automaton.final[order]
    begins = following[0]  # [classes] the row in which a match begins, or -1
    may_fail = begins >= unsure
    beyond = np.where(begins < 0, GAP, begins)

    next_ = np.where(following >= 0, following, np.where(final, beyond, GAP))
    action = np.where(following >= 0, np.where(final & (following >= unsure), MARK, 0), np.where(final, END, BACK))
    next_[0], action[0] = beyond, 0
    gap_action = np.where(begins < 0, 0, np.where(may_fail, TRY, END | DROP))
    gap_action[-1] = END | DROP
    next_ = np.insert(next_, GAP, beyond, axis=0)
    action = np.insert(action, GAP, gap_action, axis=0)
    return SplitPattern(
        next_.astype(np.uint32),
        action.astype(np.uint8),
        *code_blocks(automaton.classes),
        start=START,
        gap=GAP,
        unsure=unsure,
        keep_unmatched=keep_unmatched,
    )


def sure_states(automaton: Automaton) -> NDArray[np.bool_]:
    """Return which states lead to a match on every text: as texts end, the largest set that no class leads out of."""
    sure = np.ones(len(automaton.next) + 1, dtype=np.bool_)
    sure[-1] = False  # -1 is not a state
    while True:
        now = np.append((automaton.final | sure[automaton.next]).all(axis=1), False)
        if (now == sure).all():
            return sure[:-1]
        sure = now


def code_blocks(classes: Classes) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return (index, blocks): the classes of 64 code points are in row index[code point // 64] of blocks."""
    lengths = np.diff(np.append(classes.bounds, LIMIT))
    flat = np.repeat(classes.numbers, lengths).reshape(-1, 64)
    # Nearly all blocks are of one class, and have its number; only the others are looked at one by one.
    mixed = np.flatnonzero((flat != flat[:, :1]).any(axis=1))
    index = flat[:, 0].astype(np.uint16)
    seen = {bytes([number]) * 64: number for number in range(classes.n)}
    index[mixed] = [seen.setdefault(flat[place].tobytes(), len(seen)) for place in mixed.tolist()]
    return index, np.frombuffer(b"".join(seen), dtype=np.uint8).reshape(-1, 64)
