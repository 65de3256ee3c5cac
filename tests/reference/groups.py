"""Weights in groups of 32 inputs and their products, by the formulas of csrc/nn/linear.h in numpy."""

from __future__ import annotations

import numpy as np


def grouped(a):
    """(n, k) → (n, groups, 32), filled up with zeros."""
    n, k = a.shape
    padded = np.zeros((n, -(-k // 32) * 32), dtype=a.dtype)
    padded[:, :k] = a
    return padded.reshape(n, -1, 32)


def int4_weights(q, scales, minima=None):
    """q (n, g, 16) bytes of two → weights (n, 32 g): scale (q - 8), or scale q - minimum."""
    whole = np.concatenate([q & 15, q >> 4], axis=-1).astype(np.float64)
    scale = scales.astype(np.float64)[..., None]
    less = 8 * scale if minima is None else minima.astype(np.float64)[..., None]
    return (scale * whole - less).reshape(len(q), -1)


def int8_weights(q, scales, minima=None):
    """q (n, g, 32) → weights (n, 32 g): scale q, less the minimum."""
    less = 0.0 if minima is None else minima.astype(np.float64)[..., None]
    return (scales.astype(np.float64)[..., None] * q - less).reshape(len(q), -1)


def rounded_rows(x):
    """x (m, k) as the kernels see it: whole numbers of -127 … 127 by a scale for every 32 columns."""
    parts = grouped(x.astype(np.float32))
    scale = (np.abs(parts).max(-1) / np.float32(127)).astype(np.float32)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale > 0)
    whole = np.rint(parts * inverse[..., None]).astype(np.float64)
    return (whole * scale[..., None].astype(np.float64)).reshape(len(x), -1)[:, : x.shape[1]]


def nearest_int8(w):
    """w (n, k) as int8 in groups: the greatest weight of a group by 127, as a half."""
    parts = grouped(w)
    scale = (np.abs(parts).max(-1) / np.float32(127)).astype(np.float16).astype(np.float32)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale > 0)
    whole = np.rint(np.clip(parts * inverse[..., None], -128, 127))
    return (whole * scale[..., None]).reshape(len(w), -1)[:, : w.shape[1]]


def largest_int4(w):
    """w (n, k) as GGUF's Q4_0 has it: the greatest weight of a group becomes -8."""
    parts = grouped(w)
    top = np.take_along_axis(parts, np.abs(parts).argmax(-1)[..., None], -1)
    scale = (top / -8).astype(np.float16).astype(np.float32)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    whole = np.clip(np.floor(parts * inverse + 8.5), 0, 15) - 8
    return (whole * scale).reshape(len(w), -1)[:, : w.shape[1]]
