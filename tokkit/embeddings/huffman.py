"""The Huffman tree over the counts of words: the paths of hierarchical softmax."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Paths(NamedTuple):
    """The path of each word from the root: word i has the nodes and turns from ends[i - 1] up to ends[i].

    There is one inner node less than words; the last one is the root. A turn is 0 or 1.
    """

    ends: NDArray[np.int64]
    nodes: NDArray[np.uint32]
    turns: NDArray[np.uint8]


def huffman_paths(counts: NDArray[np.int64]) -> Paths:
    """Return the paths of two or more words; frequent words have short paths.

    >>> paths = huffman_paths(np.array([5, 2, 1]))
    >>> paths.ends.tolist(), paths.nodes.tolist(), paths.turns.tolist()
    ([1, 3, 5], [1, 1, 0, 1, 0], [1, 0, 1, 0, 0])
    """
    n = len(counts)
    parents, turns = _tree(counts)
    lengths = np.zeros(n, dtype=np.int64)
    levels = []
    words, at = np.arange(n), np.arange(n)
    while len(words):  # from the leaves up, a level at a time
        levels.append((words, parents[at] - n, turns[at]))
        lengths[words] += 1
        above = parents[at]
        going_on = above != 2 * n - 2
        words, at = words[going_on], above[going_on]
    ends = np.cumsum(lengths)
    nodes = np.empty(int(ends[-1]), dtype=np.uint32)
    bits = np.empty(int(ends[-1]), dtype=np.uint8)
    for level, (words, above, turn) in enumerate(levels):
        nodes[ends[words] - 1 - level] = above
        bits[ends[words] - 1 - level] = turn
    return Paths(ends, nodes, bits)


def _tree(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the parent and the turn of each leaf (0 … n - 1) and inner node (n … 2n - 2).

    Leaves in ascending order of counts and inner nodes in order of creation are two sorted queues: the two smallest
    nodes are at their heads.
    """
    n = len(counts)
    leaves = np.argsort(counts, kind="stable").tolist()
    weights = counts.tolist()
    parents, turns = [0] * (2 * n - 1), bytearray(2 * n - 1)
    leaf, inner = 0, n
    for made in range(n, 2 * n - 1):
        weight = 0
        for turn in (0, 1):
            if leaf < n and (inner >= made or weights[leaves[leaf]] <= weights[inner]):
                chosen = leaves[leaf]
                leaf += 1
            else:
                chosen = inner
                inner += 1
            parents[chosen], turns[chosen] = made, turn
            weight += weights[chosen]
        weights.append(weight)
    return np.array(parents), np.frombuffer(bytes(turns), dtype=np.uint8)
