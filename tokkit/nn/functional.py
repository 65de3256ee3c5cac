"""Softmax, norms, activations, gates and dropout over arrays, each along the last axis.

`out` may be exactly the input array. Any other overlap with an input raises ShapeError before anything is written.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tokkit._core.nn import rows as kernels
from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import Floats, added_rows, check_overlap, current_threads, floats, matrix, output, rows_of

ACTIVATIONS = kernels.ACTIVATIONS
"""Names of activations: "gelu" is by erf, "gelu_tanh" its approximation, "silu" also known as swish."""


def _rows(x: ArrayLike, out: Floats | None, name: str = "x") -> tuple[Floats, Floats, Floats]:
    # Return x (…, m) as (rows, m), the buffer for the result, and the buffer as (rows, m).
    made = floats(x, name)
    if not made.ndim:
        raise ShapeError(f"{name} is a single number; give an array with at least one axis")
    result = output(out, made.shape)
    rows, columns = matrix(made, name, made.shape[-1]), made.shape[-1]
    # Without columns the number of rows cannot be told from the size: `rows_of` would say none.
    return rows, result, rows_of(result, columns) if columns else result.reshape(rows.shape)


def _columns(array: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
    # Return a vector (m) that is applied to the columns of x.
    made = np.ascontiguousarray(floats(array, name))
    if made.shape != shape[-1:]:
        raise ShapeError(f"x has shape {shape} and {name} {made.shape}; {name} must be {shape[-1:]}, as x's last axis")
    return made


def softmax(x: ArrayLike, *, out: Floats | None = None) -> Floats:
    """Return e^x / Σ e^x along the last axis of x (…, m), computed without overflow.

    A row of only -inf gives NaN, as in torch. `out` may be x, but must not overlap it otherwise.

    >>> softmax([2.0, 1.0, 0.1]).round(6)
    array([0.659001, 0.242433, 0.098566], dtype=float32)
    """
    made, result, to = _rows(x, out)
    if out is not None:
        check_overlap(to, in_place={"x": made}, apart={})
    kernels.softmax(made, to, threads=current_threads())
    return result


def log_softmax(x: ArrayLike, *, out: Floats | None = None) -> Floats:
    """Return the logarithm of the softmax along the last axis of x (…, m); `out` as in `softmax`."""
    made, result, to = _rows(x, out)
    if out is not None:
        check_overlap(to, in_place={"x": made}, apart={})
    kernels.softmax(made, to, log=True, threads=current_threads())
    return result


def activate(x: ArrayLike, activation: str, *, bias: ArrayLike | None = None, out: Floats | None = None) -> Floats:
    """Return activation(x + bias) (…, m) for x (…, m) and bias (m), else ShapeError.

    `out` may be x, but not overlap it or `bias` otherwise. An activation not in ACTIVATIONS raises OptionError.
    Absolute errors are below 1e-6 for |x| of order 1 (tests/nn/test_row_kernels.py).

    >>> activate([-1.0, 0.0, 1.0], "gelu").round(4)
    array([-0.1587,  0.    ,  0.8413], dtype=float32)
    """
    if activation not in ACTIVATIONS:
        raise OptionError(f"activation is {activation!r}; it must be one of {', '.join(ACTIVATIONS)}")
    made, result, to = _rows(x, out)
    offset = None if bias is None else _columns(bias, "bias", result.shape)
    if out is not None:
        check_overlap(to, in_place={"x": made}, apart={"bias": offset})
    kernels.activate(made, to, activation, offset, threads=current_threads())
    return result


def relu(x: ArrayLike, *, out: Floats | None = None) -> Floats:
    """Return max(x, 0) (…, m) for x (…, m); `out` as in `activate`."""
    return activate(x, "relu", out=out)


def gelu(x: ArrayLike, *, approximate: str = "none", out: Floats | None = None) -> Floats:
    """Return x Φ(x) (…, m) for x (…, m) (Hendrycks and Gimpel 2016); approximate="tanh" is GPT-2's form of it.

    Another `approximate` raises OptionError. `out` as in `activate`.
    """
    if approximate not in ("none", "tanh"):
        raise OptionError(f"approximate is {approximate!r}; it must be 'none' or 'tanh'")
    return activate(x, "gelu_tanh" if approximate == "tanh" else "gelu", out=out)


def silu(x: ArrayLike, *, out: Floats | None = None) -> Floats:
    """Return x / (1 + e^-x) (…, m) for x (…, m), also known as swish; `out` as in `activate`."""
    return activate(x, "silu", out=out)


def gated(gate: ArrayLike, up: ArrayLike, *, activation: str = "silu", out: Floats | None = None) -> Floats:
    """Return activation(gate) * up (…, m) of two arrays (…, m): the middle of SwiGLU (Shazeer 2020) with "silu".

    Shapes that differ raise ShapeError. `out` may be either, but not overlap them otherwise.
    """
    if activation not in ACTIVATIONS:
        raise OptionError(f"activation is {activation!r}; it must be one of {', '.join(ACTIVATIONS)}")
    made, result, to = _rows(gate, out, "gate")
    other = floats(up, "up")
    if other.shape != result.shape:
        raise ShapeError(f"gate has shape {result.shape} and up {other.shape}; they must be equal")
    beside = matrix(other, "up", made.shape[1])
    if out is not None:
        check_overlap(to, in_place={"gate": made, "up": beside}, apart={})
    kernels.gate(made, beside, to, activation, threads=current_threads())
    return result


def layer_norm(
    x: ArrayLike,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    *,
    eps: float = 1e-5,
    residual: ArrayLike | None = None,
    out: Floats | None = None,
) -> Floats:
    """Return (x - mean) / √(variance + eps) * weight + bias along the last axis of x (…, m) (Ba et al. 2016).

    `weight` and `bias` (m); with `residual` (…, m), x + residual is normalised, in the same pass. `out` may be x or
    `residual`, but must not overlap them, `weight` or `bias` otherwise. Inconsistent shapes raise ShapeError. Mean and
    variance take two passes over a row, so a mean far from 0 loses no precision.

    >>> layer_norm([0.2, 0.4, 0.6, 0.8], eps=0).round(4)
    array([-1.3416, -0.4472,  0.4472,  1.3416], dtype=float32)
    """
    return _norm(x, weight, bias, eps, residual, out, centred=True)


def rms_norm(
    x: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    eps: float = 1e-6,
    residual: ArrayLike | None = None,
    out: Floats | None = None,
) -> Floats:
    """Return x / √(mean of x² + eps) * weight along the last axis of x (…, m) (Zhang and Sennrich 2019).

    `weight` (m), and `residual` (…, m) and `out` as in `layer_norm`.
    """
    return _norm(x, weight, None, eps, residual, out, centred=False)


def _norm(
    x: ArrayLike,
    weight: ArrayLike | None,
    bias: ArrayLike | None,
    eps: float,
    residual: ArrayLike | None,
    out: Floats | None,
    *,
    centred: bool,
) -> Floats:
    made, result, to = _rows(x, out)
    by = None if weight is None else _columns(weight, "weight", result.shape)
    offset = None if bias is None else _columns(bias, "bias", result.shape)
    more = added_rows(residual, result.shape)
    if out is not None:
        check_overlap(to, in_place={"x": made, "residual": more}, apart={"weight": by, "bias": offset})
    kernels.norm(made, to, by, offset, eps=eps, centred=centred, residual=more, threads=current_threads())
    return result


def dropout(x: ArrayLike, p: float, *, seed: int) -> Floats:
    """Return x (…) with each item set to 0 with probability p, else divided by 1 - p; for training only.

    A `p` outside 0 … 1, or a `seed` that is not a whole number of at least 0, raises OptionError.
    """
    if not 0 <= p <= 1:
        raise OptionError(f"p is {p!r}; it must be a probability from 0 to 1")
    made, seed = floats(x, "x"), as_int("seed", seed, minimum=0)
    if p == 1:
        return np.zeros_like(made)
    kept = np.random.default_rng(seed).random(made.shape) >= p
    return np.where(kept, made / np.float32(1 - p), np.float32(0))
