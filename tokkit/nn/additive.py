"""Additive attention: scores from a small network of query and key (Bahdanau)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit.checks import as_int
from tokkit.errors import ShapeError
from tokkit.nn.arrays import floats, take
from tokkit.nn.attention import padding_of
from tokkit.nn.functional import activate, softmax
from tokkit.nn.linear import Linear

AT_ONCE = 1 << 20
"""The number of hidden activations computed at a time, 4 MB: queries are processed in parts."""


class AdditiveAttention:
    """Attention of a decoder's states to an encoder's: score(s, h) = vᵀ tanh(W s + U h), context Σ softmax(score) h.

    Weights: query.weight W (hidden_dim, query_dim), key.weight U (hidden_dim, key_dim), score.weight v (1, hidden_dim).
    Time T·S·hidden_dim tanhs, slower than dot products; memory T·S weights. W s and U h are computed once. Source:
    Bahdanau et al. 2015, 3.1 and appendix A.1.2.

    >>> weights = {"query.weight": np.ones((4, 2)), "key.weight": np.ones((4, 3)), "score.weight": np.ones((1, 4))}
    >>> AdditiveAttention(weights, query_dim=2, key_dim=3, hidden_dim=4)(np.ones((1, 5, 2)), np.ones((1, 6, 3))).shape
    (1, 5, 3)
    """

    def __init__(self, weights: Mapping[str, Any], *, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        self.query_dim, self.key_dim = as_int("query_dim", query_dim, minimum=1), as_int("key_dim", key_dim, minimum=1)
        hidden_dim = as_int("hidden_dim", hidden_dim, minimum=1)
        self._query = Linear(take(weights, "query.weight", (hidden_dim, query_dim)))
        self._key = Linear(take(weights, "key.weight", (hidden_dim, key_dim)))
        self._score = take(weights, "score.weight", (1, hidden_dim))[0]

    def __call__(
        self,
        query: ArrayLike,
        memory: ArrayLike,
        *,
        key_padding_mask: ArrayLike | None = None,
        return_weights: bool = False,
    ) -> Any:
        """Return contexts (B, T, key_dim) of queries (B, T, query_dim) over a memory (B, S, key_dim).

        `key_padding_mask` (B, S): True = ignore; a query that sees nothing gives zeros. `return_weights` returns
        (contexts, weights (B, T, S)). Raises ShapeError for arrays that do not fit.
        """
        q, m = floats(query, "query"), floats(memory, "memory")
        if q.ndim != 3 or m.ndim != 3 or (q.shape[2], m.shape[2]) != (self.query_dim, self.key_dim):
            raise ShapeError(
                f"query and memory have shapes {q.shape} and {m.shape}; they must be (B, T, {self.query_dim}) and "
                f"(B, S, {self.key_dim})"
            )
        if q.shape[0] != m.shape[0]:
            raise ShapeError(f"query has shape {q.shape} and memory {m.shape}; batches must be equal")
        ignored = None if key_padding_mask is None else padding_of(key_padding_mask, m.shape[:2]).view(np.bool_)
        asked, keys = self._query(q), self._key(m)
        weights = np.empty((*q.shape[:2], m.shape[1]), dtype=np.float32)
        step = max(1, AT_ONCE // max(1, keys.size))
        for first in range(0, q.shape[1], step):
            part = slice(first, first + step)
            hidden = asked[:, part, None] + keys[:, None]
            np.matmul(activate(hidden, "tanh", out=hidden), self._score, out=weights[:, part])
        if ignored is not None:
            weights[np.broadcast_to(ignored[:, None], weights.shape)] = -np.inf
            m = np.where(ignored[..., None], np.float32(0), m)
        if weights.size:
            softmax(weights, out=weights)
        if ignored is not None:
            weights[ignored.all(1)] = 0
        contexts = np.matmul(weights, m)
        return (contexts, weights) if return_weights else contexts
