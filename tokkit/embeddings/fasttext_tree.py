"""The binary tree of hierarchical softmax, built as in fastText: files store the rows of its nodes, not the tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class TreePaths(NamedTuple):
    """The path from each leaf to the root; entries ends[i - 1] to ends[i] belong to leaf i."""

    ends: NDArray[np.int64]
    nodes: NDArray[np.uint32]
    """Inner nodes, numbered from 0 in order of creation; the last one is the root."""
    turns: NDArray[np.uint8]
    """1 where the path goes to the second child."""


def tree_paths(counts: ArrayLike) -> TreePaths:
    """Return the paths of the Huffman tree over leaves with descending counts, built as in fastText.

    Of a leaf and an inner node with equal counts the node is merged first.

    >>> paths = tree_paths([4, 2, 1])
    >>> paths.ends.tolist(), paths.nodes.tolist(), paths.turns.tolist()
    ([1, 3, 5], [1, 0, 1, 0, 1], [1, 1, 0, 0, 0])
    """
    given = np.asarray(counts, dtype=np.int64).tolist()
    n = len(given)
    sums: list[int] = []
    parents, turns = np.zeros(2 * n - 1, np.int64), np.zeros(2 * n - 1, np.uint8)
    leaf, inner = n - 1, 0
    for made in range(n - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and (inner >= len(sums) or given[leaf] < sums[inner]):
                pair.append((leaf, given[leaf]))
                leaf -= 1
            else:
                pair.append((n + inner, sums[inner]))
                inner += 1
        sums.append(pair[0][1] + pair[1][1])
        for turn, (child, _) in enumerate(pair):
            parents[child], turns[child] = n + made, turn
    root, at = 2 * n - 2, np.arange(n)
    steps = []
    while len(going := np.flatnonzero(at != root)):
        steps.append((going, parents[at[going]] - n, turns[at[going]]))
        at[going] = parents[at[going]]
    if not steps:
        return TreePaths(np.zeros(n, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint8))
    leaves = np.concatenate([step[0] for step in steps])
    order = np.argsort(leaves, kind="stable")
    return TreePaths(
        np.cumsum(np.bincount(leaves, minlength=n)),
        np.concatenate([step[1] for step in steps])[order].astype(np.uint32),
        np.concatenate([step[2] for step in steps])[order],
    )
