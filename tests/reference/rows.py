"""Activations, norms, rotations and quantized products of rows, by their formulas in float64."""

from __future__ import annotations

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])
ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + _erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "exp": np.exp,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


def softmax(x):
    """Softmax of the last axis."""
    p = np.exp(x - x.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def layer_norm(x, eps=1e-5):
    """Mean 0 and variance 1 along the last axis."""
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def rms_norm(x, eps=1e-5):
    """Mean square 1 along the last axis."""
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def rotate(x, angles, *, pairs):
    """Turn the first 2 * half columns of (…, D), as complex numbers, by angles (…, half)."""
    half, y = angles.shape[-1], np.array(x, dtype=np.float64)
    real, imaginary = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if pairs else (slice(half), slice(half, 2 * half))
    turned = (y[..., real] + 1j * y[..., imaginary]) * np.exp(1j * angles)
    y[..., real], y[..., imaginary] = turned.real, turned.imag
    return y


def bfloat16(w):
    """The nearest numbers of 8 significant bits, ties to even."""
    bits = np.ascontiguousarray(w, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def int8_product(x, w):
    """x (m, k), w (n, k) → x wᵀ by whole numbers: a scale a row of w, a scale and a zero point a row of x."""
    w_scale = (np.abs(w).max(1) / np.float32(127)).astype(np.float32)
    w8 = np.rint(np.divide(w, w_scale[:, None], out=np.zeros_like(w), where=w_scale[:, None] > 0)).astype(np.int64)
    high, low = np.maximum(x.max(1), 0), np.minimum(x.min(1), 0)
    scale = np.maximum((high - low) / np.float32(255), np.finfo(np.float32).tiny)
    zero = np.rint(-low / scale).astype(np.int64)
    x8 = np.clip(np.rint(x * (np.float32(1) / scale)[:, None]).astype(np.int64) + zero[:, None], 0, 255)
    whole = (x8 - zero[:, None]) @ w8.T
    return whole.astype(np.float32) * (w_scale * scale[:, None])
