"""The poolings of sentence models: hidden states of packed sequences → one vector each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Starts = NDArray[np.int64]


def _sums(x: Floats, starts: Starts) -> Floats:
    # In a loop: reduceat over the first axis takes five times as long.
    made = np.empty((len(starts) - 1, x.shape[1]), dtype=np.float32)
    for row, first, end in zip(made, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        np.add.reduce(x[first:end], axis=0, out=row)
    return made


def _counts(starts: Starts) -> Floats:
    return np.maximum(np.diff(starts), 1).astype(np.float32)[:, None]


def cls(x: Floats, starts: Starts, first: int) -> Floats:
    """Return the first token's state."""
    return _row(x, starts, starts[:-1])


def lasttoken(x: Floats, starts: Starts, first: int) -> Floats:
    """Return the last token's state."""
    return _row(x, starts, starts[1:] - 1)


def _row(x: Floats, starts: Starts, rows: Starts) -> Floats:
    full = np.diff(starts) > 0
    made = np.zeros((len(full), x.shape[1]), dtype=np.float32)
    made[full] = x[rows[full]]
    return made


def highest(x: Floats, starts: Starts, first: int) -> Floats:
    """Return the maximum of each column."""
    made = np.zeros((len(starts) - 1, x.shape[1]), dtype=np.float32)
    # Without empty sequences, for which reduceat would return the row after them.
    if (full := np.flatnonzero(np.diff(starts))).size:
        made[full] = np.maximum.reduceat(x, starts[:-1][full], axis=0)
    return made


def mean(x: Floats, starts: Starts, first: int) -> Floats:
    """Return the mean of all tokens."""
    return _sums(x, starts) / _counts(starts)


def mean_sqrt_len_tokens(x: Floats, starts: Starts, first: int) -> Floats:
    """Return the sum of all tokens, divided by the square root of their number."""
    return np.divide(_sums(x, starts), np.sqrt(_counts(starts)), dtype=np.float32)


def weightedmean(x: Floats, starts: Starts, first: int) -> Floats:
    """Return the mean of all tokens, weighted by position: 1, 2, 3, … (Muennighoff 2022)."""
    place = np.arange(len(x)) - np.repeat(starts[:-1], np.diff(starts)) + (1 + first)
    weights = place.astype(np.float32)[:, None]
    return np.divide(_sums(x * weights, starts), np.maximum(_sums(weights, starts), 1e-9), dtype=np.float32)


POOLINGS: dict[str, Callable[[Floats, Starts, int], Floats]] = {
    "cls": cls, "max": highest, "mean": mean, "mean_sqrt_len_tokens": mean_sqrt_len_tokens,
    "weightedmean": weightedmean, "lasttoken": lasttoken,
}  # fmt: skip
"""The configuration's name → a function of states (total, dim) and starts to (n, dim); in the order of concatenation.
"""


def pool(x: Floats, starts: Starts, modes: Sequence[str], *, without: int = 0) -> Floats:
    """Return (n, dim · modes) for states x (total, dim), sequence i being rows starts[i] … starts[i + 1].

    `without` is the number of first tokens to leave out of each sequence, those of a prompt. A sequence without tokens
    gives zeros.

    >>> x = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]], dtype=np.float32)
    >>> pool(x, np.array([0, 2, 3]), ["mean"]).tolist()
    [[2.0, 1.0], [5.0, 5.0]]
    """
    if without:
        lengths = np.diff(starts)
        kept = np.maximum(lengths - without, 0)
        inside = np.arange(len(x)) - np.repeat(starts[:-1], lengths)
        x, starts = x[inside >= without], np.concatenate([[0], np.cumsum(kept)])
    return np.concatenate([POOLINGS[mode](x, starts, without) for mode in modes], axis=1)
