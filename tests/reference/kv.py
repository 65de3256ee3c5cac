"""Rows of keys or values converted to the dtypes of a cache and back, by definition."""

from __future__ import annotations

import numpy as np


def bfloat16(x):
    """The uint16 of the nearest bfloat16 of each float32; of two equally near ones the even one."""
    bits = np.float32(x).view(np.uint32).astype(np.uint64)
    low, high = bits & 0xFFFF, bits >> 16
    up = (low > 0x8000) | ((low == 0x8000) & (high % 2 == 1))
    return (high + up).astype(np.uint16)


def from_bfloat16(x):
    """The float32 of each uint16."""
    return (x.astype(np.uint32) << 16).view(np.float32)


def int8(x):
    """The nearest multiples of (greatest of a row / 127), halves away from 0, and that scale of each row."""
    scale = (np.abs(x).max(-1) / np.float32(127)).astype(np.float32)
    by = np.where(scale > 0, scale, 1)[..., None]
    return (np.sign(x) * np.floor(np.abs(x / by) + 0.5)).astype(np.int8), scale


def stored(dtype, x):
    """What a cache of that type gives back for float32."""
    if dtype == "bfloat16":
        return from_bfloat16(bfloat16(x))
    if dtype == "int8":
        rows, scale = int8(x)
        return rows * scale[..., None]
    return x


def rotated(x, positions, base, dim=None, sign=1):
    """Keys (heads, n, D) turned by positions (n), pairs being columns i and i + half of the first dim."""
    n = (dim or x.shape[-1]) // 2
    angle = sign * np.asarray(positions, np.float64)[:, None] * base ** (-np.arange(n) / n)
    made = np.array(x, np.float64)
    made[..., :n] = x[..., :n] * np.cos(angle) - x[..., n : 2 * n] * np.sin(angle)
    made[..., n : 2 * n] = x[..., n : 2 * n] * np.cos(angle) + x[..., :n] * np.sin(angle)
    return made
