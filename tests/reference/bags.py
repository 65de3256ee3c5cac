"""Means of the table rows of bags of ids, in float64, one id at a time."""

from __future__ import annotations

import numpy as np


def bags(
    table: np.ndarray,
    ids: np.ndarray,
    starts: np.ndarray,
    *,
    row_of: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    ignored: int | None = None,
    max_ids: int | None = None,
    normalize: bool = False,
) -> np.ndarray:
    """Return (n, m): for each bag the mean of its rows, of length 1 with `normalize`; zeros for an empty one."""
    made = np.zeros((len(starts) - 1, table.shape[1]))
    for i in range(len(made)):
        found = []
        for id_ in ids[starts[i] : starts[i + 1]][:max_ids]:
            if id_ != ignored:
                row = table[id_ if row_of is None else row_of[id_]].astype(np.float64)
                found.append(row if weights is None else row * weights[id_])
        if found:
            made[i] = sum(found) / len(found)
        if normalize:
            made[i] /= np.linalg.norm(made[i]) or 1.0
    return made
