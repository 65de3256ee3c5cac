"""Attention for training with a window, and with a bias by distance: as a twin with whole matrices, by any ISA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tokkit._core.grad import attention_back as core
from tokkit._core.text import isas

PAST = 31
"""Entries of a table by distance after the largest distance."""


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def twin(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    dout: np.ndarray,
    seen: np.ndarray,
    bias: np.ndarray | None,
    scale: float,
) -> tuple[np.ndarray, ...]:
    """Output and gradients of a sequence, float64: q, dout (n, heads, d), k and v (n, kv_heads, d), bias by [q, k]."""
    group = q.shape[1] // k.shape[1]
    out, dq, dk, dv = np.zeros_like(q), np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    d_bias = np.zeros((q.shape[1], *seen.shape))
    for h in range(q.shape[1]):
        scores = scale * q[:, h] @ k[:, h // group].T + (0 if bias is None else bias[h])
        p = np.exp(np.where(seen, scores, -np.inf) - np.where(seen, scores, -np.inf).max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        out[:, h] = p @ v[:, h // group]
        dp = dout[:, h] @ v[:, h // group].T
        ds = p * (dp - (p * dp).sum(1, keepdims=True))
        dq[:, h], d_bias[h] = scale * ds @ k[:, h // group], ds
        dk[:, h // group] += scale * ds.T @ q[:, h]
        dv[:, h // group] += p.T @ dout[:, h]
    return out, dq, dk, dv, d_bias


@pytest.mark.threads
@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize(
    ("before", "after", "causal"),
    [(-1, -1, False), (0, 0, False), (5, 5, False), (3, 40, False), (33, 32, False), (64, -1, False), (-1, 7, False),
     (9, -1, True), (1000, 1000, False)],
)  # fmt: skip
@pytest.mark.parametrize(
    ("n", "heads", "kv_heads", "d"), [(1, 2, 2, 8), (100, 4, 2, 12), (32, 1, 1, 32), (67, 2, 2, 16)]
)
def test_windows_and_biases_are_those_of_whole_matrices(
    isa: str, before: int, after: int, causal: bool, n: int, heads: int, kv_heads: int, d: int
) -> None:
    batch, zero = 2, n + 3
    rows, dout = draw(batch * n, (heads + 2 * kv_heads) * d), draw(batch * n, heads * d)
    ends = heads * d, (heads + kv_heads) * d
    parts = rows[:, : ends[0]], rows[:, ends[0] : ends[1]], rows[:, ends[1] :]
    distance = np.arange(n)[:, None] - np.arange(n)
    seen = (distance <= (n if before < 0 else before)) & (-distance <= (0 if causal else n if after < 0 else after))
    for table in (None, draw(heads, zero + n + PAST)):
        options: dict[str, Any] = {"scale": d**-0.5, "causal": causal, "before": before, "after": after,
                                   "by_distance": table, "zero": zero, "isa": isa}  # fmt: skip
        made = []
        for threads in (1, 3):
            out, lse = np.empty_like(dout), np.empty((batch, heads, n), dtype=np.float32)
            core.grad_attention(*parts, out, lse, threads=threads, **options)
            d_rows = np.empty_like(rows)
            d_parts = d_rows[:, : ends[0]], d_rows[:, ends[0] : ends[1]], d_rows[:, ends[1] :]
            d_table = None if table is None else np.ones((batch, *table.shape), dtype=np.float32)
            core.attention_back(
                *parts, out, lse, dout, *d_parts, threads=threads, d_by_distance=d_table, **options
            )  # fmt: skip
            made.append((out, d_rows, np.zeros(1) if d_table is None else d_table))
        assert all(np.array_equal(a, b) for a, b in zip(*made, strict=True))
        for i in range(batch):
            some = slice(i * n, (i + 1) * n)
            q, k, v, slope = (x[some].reshape(n, -1, d).astype(np.float64) for x in (*parts, dout))
            bias = None if table is None else table[:, zero + distance]
            wanted = twin(q, k, v, slope, seen, bias, d**-0.5)
            for found, right in zip((out, *d_parts), wanted[:4], strict=True):
                np.testing.assert_allclose(found[some], right.reshape(n, -1), atol=3e-5)
            if d_table is not None:
                expected = np.ones(table.shape)
                for h in range(heads):
                    np.add.at(expected[h], zero + distance, wanted[4][h])
                np.testing.assert_allclose(d_table[i], expected, atol=3e-5)


def test_a_table_that_does_not_fit_is_refused() -> None:
    q, out, lse = draw(8, 8), np.empty((8, 8), dtype=np.float32), np.empty((1, 1, 8), dtype=np.float32)
    for shape, zero in (((1, 8 + 7 + PAST), 6), ((1, 8 + 6 + PAST), 7), ((2, 99), 7)):
        with pytest.raises(ValueError, match=r"by_distance has shape .*; for 1 heads and texts of 8 tokens, zero"):
            core.grad_attention(q, q, q, out, lse, scale=1.0, by_distance=draw(*shape), zero=zero)
    core.grad_attention(q, q, q, out, lse, scale=1.0, by_distance=draw(1, 8 + 7 + PAST), zero=7)
    with pytest.raises(ValueError, match=r"d_by_distance has shape \(1, 1, 45\); it must be \(1, 1, 46\)"):
        core.attention_back(q, q, q, out, lse, q, *np.empty((3, 8, 8), np.float32), scale=1.0,
                            by_distance=draw(1, 46), zero=7, d_by_distance=draw(1, 1, 45))  # fmt: skip
