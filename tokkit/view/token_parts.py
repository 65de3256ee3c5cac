"""Finds the two tokens from which a BPE token is merged; pages derive all merges of a token from this."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tokkit.engine.sampling import has_merges, merge_table

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

Parts = dict[int, tuple[int, int, int]]
"""Id of a token → rank of the merge that makes it, and the ids of its left and right part."""


class TokenParts:
    """The first merge that makes each token; empty for a model without merges.

    >>> import tokkit
    >>> tok = tokkit.train({"low": 5, "lowest": 2}, vocab_size=258)
    >>> parts = TokenParts(tok).of([tok.vocab[b"low"]])
    >>> [(rank, tok.vocab[left], tok.vocab[right]) for rank, left, right in parts.values()]
    [(0, b'l', b'o'), (1, b'lo', b'w')]
    """

    def __init__(self, tok: Tokenizer) -> None:
        table = merge_table(tok) if has_merges(tok) else np.empty((0, 3), dtype=np.uint32)
        self._table = table
        self._first = np.full(int(table[:, 2].max()) + 1 if len(table) else 0, -1, dtype=np.int64)
        self._first[table[::-1, 2]] = np.arange(len(table))[::-1]

    def of(self, ids: Iterable[int]) -> Parts:
        """Return the parts of these tokens, recursively, in the order of the ranks."""
        made: Parts = {}
        left = list(ids)
        while left:
            id_ = left.pop()
            if id_ in made or id_ >= len(self._first) or self._first[id_] < 0:
                continue
            rank = int(self._first[id_])
            a, b, _ = self._table[rank].tolist()
            made[id_] = rank, a, b
            left += (a, b)
        return dict(sorted(made.items(), key=lambda item: item[1][0]))


def with_parts(ids: Iterable[int], parts: Parts) -> list[int]:
    """Return these ids and those of all parts, without repeats."""
    return list({*ids, *(id_ for _, a, b in parts.values() for id_ in (a, b))})
