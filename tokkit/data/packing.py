"""Packs documents into rows of equal length: in sequence, or by best fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packed:
    """Segments in the order of writing: the start of each in the ids, and its target.

    The `lengths[i]` ids of segment i from `sources[i]` on are written to `targets[i]`; the rest of the `n_rows` rows is
    padding.
    """

    sources: Ints
    lengths: Ints
    targets: Ints
    n_rows: int


def sequential(starts: Ints, lengths: Ints, seq_len: int) -> Packed:
    """Concatenate documents; a document may continue in the next row, and only the last row has padding."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    begins = ends - lengths
    n_rows = -(-total // seq_len)
    # A segment begins at the start of a document or a row.
    cuts = np.union1d(begins[lengths > 0], np.arange(0, total, seq_len, dtype=np.int64))
    document = np.searchsorted(begins, cuts, side="right") - 1
    # Documents without ids begin where the next one begins; the last one counts.
    return Packed(starts[document] + cuts - begins[document], np.diff(cuts, append=total), cuts, n_rows)


def best_fit(starts: Ints, lengths: Ints, seq_len: int) -> Packed:
    """Put each document into the row with the least remaining room (Ding et al. 2024, "Fewer Truncations", §3).

    The longest documents come first; of rows with equal room the newest is used. Only a document longer than a row is
    cut. Rows are in the order of their creation.
    """
    whole = lengths // seq_len
    rest = lengths - whole * seq_len
    n_whole = int(whole.sum())
    # Rows filled by one document.
    of = np.repeat(np.arange(len(lengths)), whole)
    nth = np.arange(n_whole) - np.repeat(np.cumsum(whole) - whole, whole)
    sources, targets = starts[of] + nth * seq_len, np.arange(n_whole, dtype=np.int64) * seq_len
    kept = np.flatnonzero(rest)
    kept = kept[np.argsort(-rest[kept], kind="stable")]
    places, n_rows = _best_places(rest[kept].tolist(), seq_len)
    rests = starts[kept] + whole[kept] * seq_len
    at = n_whole * seq_len + np.array(places, dtype=np.int64)
    order = np.argsort(at)
    return Packed(
        np.concatenate([sources, rests[order]]),
        np.concatenate([np.full(n_whole, seq_len, dtype=np.int64), rest[kept][order]]),
        np.concatenate([targets, at[order]]),
        n_whole + n_rows,
    )


def _best_places(lengths: list[int], seq_len: int) -> tuple[list[int], int]:
    """Return the position of each length in rows of `seq_len`, and the number of rows."""
    rows: list[list[int]] = [[] for _ in range(seq_len + 1)]  # rows by their remaining room
    rooms = 0  # one bit for each room that some row has
    places, n_rows = [], 0
    for length in lengths:
        fitting = rooms >> length
        if fitting:
            room = length + (fitting & -fitting).bit_length() - 1
            row = rows[room].pop()
            if not rows[room]:
                rooms &= ~(1 << room)
        else:
            room, row = seq_len, n_rows
            n_rows += 1
        places.append(row * seq_len + seq_len - room)
        if left := room - length:
            rows[left].append(row)
            rooms |= 1 << left
    return places, n_rows
