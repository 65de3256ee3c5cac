"""Exact search of vectors in float64, one row at a time."""

from __future__ import annotations

import numpy as np


def top_k(vectors: np.ndarray, query: np.ndarray, k: int) -> list[tuple[int, float]]:
    """The k rows of the greatest products with a query, of equal ones the lower first, with their scores."""
    wide = query.astype(np.float64)
    scores = [float((row.astype(np.float64) * wide).sum()) for row in vectors]
    order = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
    return [(row, scores[row]) for row in order]


def dots(vectors: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Products (q, n) in float64."""
    return queries.astype(np.float64) @ vectors.astype(np.float64).T
