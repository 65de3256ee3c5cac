"""Biases of scores by the distance of query and key, ALiBi or T5's buckets: the tables grow with the texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.nn.arrays import Floats, take
from tokkit.nn.config import TransformerConfig
from tokkit.nn.positions import alibi_slopes, relative_buckets

FIRST = 512
"""The initial number of distances on each side of a table, doubled for longer texts."""


class DistanceTables:
    """A table (n_heads, …); the bias for a query d tokens after its key is at [zero + d].

    Weights: relative.weight (n_buckets, n_heads) where the configuration has relative_buckets.
    """

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Any]) -> None:
        self._config = config
        self._relative: Floats | None = None
        if config.relative_buckets:
            shape = config.relative_buckets, config.n_heads
            self._relative = np.array(take(weights, "relative.weight", shape))
        self._held: tuple[Floats, int] | None = None

    def __call__(self, rows: int, longest: int) -> tuple[Floats | None, int]:
        """Return a table and its zero for this number of new tokens and the longest text; None without a bias.

        A causal decoder does not read entries for keys after a query.
        """
        if not self._config.alibi and self._relative is None:
            return None, 0
        held = self._held
        if held is None or held[1] < rows or held[0].shape[1] < held[1] + longest:
            zero, after = (max(FIRST, 1 << (n - 1).bit_length()) for n in (max(rows, 1), max(longest, 1)))
            held = self._held = self._made(np.arange(-zero, after)), zero  # replaced whole: threads may share it
        return held

    def _made(self, distances: NDArray[np.int64]) -> Floats:
        c = self._config
        if self._relative is None:
            return -alibi_slopes(c.n_heads)[:, None] * np.abs(distances).astype(np.float32)
        buckets = relative_buckets(
            -distances, n_buckets=c.relative_buckets, max_distance=c.relative_distance, bidirectional=not c.causal
        )
        return np.ascontiguousarray(self._relative[buckets].T)
