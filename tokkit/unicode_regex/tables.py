"""Packs an automaton into the tables that the core runs: see csrc/split/dfa.h.

The loop takes each character once: where a match is over, the row of the next one is entered at once, and where none
can begin, the row of a gap. A state is sure if a match ends now or later whatever the text: then nothing need be
written down on the way, and the end that the automaton comes to is the end of the match.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit._core.split import SplitPattern
from tokkit.unicode_regex.automaton import Automaton, Classes
from tokkit.unicode_regex.code_points import LIMIT

END, DROP, MARK, BACK, TRY = 1, 2, 4, 8, 16
"""What a row does on a class besides going on, by the numbers of csrc/split/dfa.h."""


def tables(automaton: Automaton, *, keep_unmatched: bool) -> SplitPattern:
    """Return what the core runs."""
    # States are renumbered: the starts, a gap for each of them, those that are sure, and then the others.
    sure = sure_states(automaton)
    states, starts = len(sure), automaton.contexts.n
    later, of_class = np.arange(starts, states), automaton.contexts.of_class.astype(np.int64)
    order = np.concatenate((np.arange(starts), later[sure[starts:]], later[~sure[starts:]]))
    row_of = np.empty(states + 1, dtype=np.int64)
    row_of[order] = np.concatenate((np.arange(starts), np.arange(starts, states) + starts))
    row_of[-1] = -1  # not a state
    unsure = 2 * starts + int(sure[starts:].sum())

    following, final = row_of[automaton.next[order]], automaton.final[order]
    contexts = automaton.state_contexts[order]
    begins = following[:starts]  # (contexts, classes): the row in which a match begins, or -1
    may_fail = begins >= unsure
    gap = starts + np.append(of_class, 0)  # the row after an unmatched character of each class
    beyond = np.where(begins < 0, gap, begins)

    next_ = np.where(following >= 0, following, np.where(final, beyond[contexts], gap))
    action = np.where(following >= 0, np.where(final & (following >= unsure), MARK, 0), np.where(final, END, BACK))
    next_[:starts], action[:starts] = beyond, 0
    gap_action = np.where(begins < 0, 0, np.where(may_fail, TRY, END | DROP))
    gap_action[:, -1] = END | DROP
    next_ = np.concatenate((next_[:starts], beyond, next_[starts:]))
    action = np.concatenate((action[:starts], gap_action, action[starts:]))
    return SplitPattern(
        next_.astype(np.uint32),
        action.astype(np.uint8),
        *code_blocks(automaton.classes),
        contexts=automaton.contexts.of_class,
        n_contexts=starts,
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
