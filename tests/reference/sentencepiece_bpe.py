"""The merges of sentencepiece's BPE training, with all pairs counted anew at each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise


def train(units: Mapping[str, int], n_pieces: int, is_valid: Callable[[str], bool]) -> list[tuple[str, int]]:
    """The first `n_pieces` pieces and how often each one's pair occurred; 0 for those that other merges used up."""
    words = [(list(unit), count) for unit, count in units.items()]
    pieces: list[tuple[str, int]] = []
    known: set[str] = set()
    ever: set[tuple[str, str]] = set()
    while len(pieces) < n_pieces:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in words:
            for left, right in pairwise(word):
                pairs[left, right] += count
        ever |= pairs.keys()
        allowed = [pair for pair in ever if is_valid("".join(pair)) and "".join(pair) not in known]
        if not allowed:
            break
        left, right = min(allowed, key=lambda pair: (-pairs[pair], len("".join(pair)), "".join(pair).encode()))
        pieces.append((left + right, pairs[left, right]))
        known.add(left + right)
        for word, _ in words:
            i = 0
            while i + 1 < len(word):
                if word[i] == left and word[i + 1] == right:
                    word[i : i + 2] = [left + right]
                    ever |= {*pairwise(word[max(i - 1, 0) : i + 2])}  # of "aaaa" also aa·a, until the next merge
                i += 1
    return pieces


def spelt_twice(units: Mapping[str, int], pieces: list[tuple[str, int]]) -> bool:
    """Whether a piece could have come of two pairs: then which of equals merged is not settled by its text."""
    return any(
        sum(piece[:k] in known and piece[k:] in known for k in range(1, len(piece))) > 1
        for known in [{p for p, _ in pieces} | set("".join(units))]
        for piece, _ in pieces
    )
