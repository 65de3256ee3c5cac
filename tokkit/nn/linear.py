"""`Linear`: x Wᵀ + b with weights packed for the CPU, as float32, bfloat16, int8 or int4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tokkit import renamed
from tokkit._core.nn.linear import FUSED, KINDS, LargeMemory, PackedLinear
from tokkit.errors import OptionError, ShapeError
from tokkit.nn.arrays import (
    Floats,
    added_rows,
    check_overlap,
    current_threads,
    floats,
    full_name,
    matrix,
    output,
    rows_of,
)

ROW_PAD = 16
"""Floats of padding after each row of an internal buffer, because rows at multiples of 512 bytes share cache sets."""

LARGEST = {"int8": float(np.finfo(np.float32).max), "int4": 458_000.0, "int8-weight-only": 8_300_000.0}
"""The maximum weight of a dtype: scales of groups are float16, whose maximum is 65504."""


def check_dtype(dtype: str) -> str:
    """Return the dtype of stored weights; OptionError for an unknown one."""
    if dtype not in KINDS:
        raise OptionError(f"dtype is {dtype!r}; it must be one of {', '.join(KINDS)}")
    return dtype


def buffer(rows: int, columns: int) -> Floats:
    """Return an uninitialised array (rows, columns) whose rows do not collide in the cache."""
    pad = ROW_PAD if columns % 128 == 0 and rows > 1 else 0
    return np.empty((rows, columns + pad), dtype=np.float32)[:, :columns]


class Linear:
    """activation(x Wᵀ + b) + residual, with weight (n, k) and bias (n), as in torch. Immutable.

    `dtype` is the format of the packed weights. "float32". "bfloat16": half of the memory, relative error of a weight
    below 2^-8; AMD's CPUs with bfloat16 instructions (Zen 4) round rows of x too and are nearly twice as fast, others
    compute in float32. "int8": a quarter of the memory, one scale for each row of W, and rows of x are quantized to 8
    bits at each call (cosine to float32 about 0.999). Sums of int8 products are exact, and equal on every machine.

    "int4" (4.5 bits per weight) and "int8-weight-only" (8.5 bits) have a scale for every 32 inputs of a row of W; those
    of int4 are chosen for the minimum error. Rows of x are quantized with a scale for every 32 columns in each call, so
    that the error is almost only that of the weights. They are for text generation, one token at a time.

    >>> layer = Linear(np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([0.5, 0.0]))
    >>> layer(np.array([[1.0, 1.0]]), activation="relu")
    array([[3.5, 0. ]], dtype=float32)
    """

    @renamed.keywords(kind="dtype")
    def __init__(self, weight: ArrayLike, bias: ArrayLike | None = None, *, dtype: str = "float32") -> None:
        self._pack([weight], [bias], check_dtype(dtype), [])

    @classmethod
    @renamed.keywords(kind="dtype")
    def of(
        cls, weights: Mapping[str, Any], names: Sequence[str], *, dtype: str = "float32",
        memory: LargeMemory | None = None,
    ) -> Linear:  # fmt: skip
        """Return several layers that read the same x as one: names "q", "k" are those of q.weight, q.bias, k.weight.

        `memory` is a buffer for the packed weights of several layers.
        """
        made = cls.__new__(cls)
        missing = [f"{name}.weight" for name in names if f"{name}.weight" not in weights]
        if missing:
            raise ShapeError(f"the weights have no {full_name(weights, missing[0])!r}")
        biases = [weights.get(f"{name}.bias") for name in names]
        full = [full_name(weights, name) for name in names]
        made._pack([weights[f"{name}.weight"] for name in names], biases, check_dtype(dtype), full, memory)
        return made

    def _pack(
        self, weights: Sequence[ArrayLike], biases: Sequence[ArrayLike | None], dtype: str, names: Sequence[str],
        memory: LargeMemory | None = None,
    ) -> None:  # fmt: skip
        parts = [floats(weight, "weight") for weight in weights]
        for part in parts:
            if part.ndim != 2 or part.shape[1] != parts[0].shape[1]:
                raise ShapeError(
                    f"weight has shape {part.shape}; it must be (outputs, inputs), with the same inputs for all"
                )
        offsets: list[Floats] = []
        for part, bias in zip(parts, biases, strict=True):
            offset = np.zeros(part.shape[0], dtype=np.float32) if bias is None else floats(bias, "bias")
            if offset.shape != part.shape[:1]:
                raise ShapeError(
                    f"bias has shape {offset.shape} and weight {part.shape}; their first axes must be equal"
                )
            offsets.append(offset)
        weight = np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
        joined = None if all(bias is None for bias in biases) else np.concatenate(offsets)
        if dtype == "int8" and weight.shape[1] > 65536:
            raise OptionError(
                f"the weight has {weight.shape[1]} inputs; with int8 it must be at most 65536, or sums would overflow"
            )
        if dtype in LARGEST and weight.size and not max(weight.max(), -weight.min()) <= LARGEST[dtype]:  # NaN too
            of = f"those of {', '.join(names)}" if names else "these"
            has = f"{of} reach {abs(weight).max():.6g}" if np.isfinite(weight).all() else f"{of} hold NaN or infinity"
            raise OptionError(f"{dtype} weights must be finite, and at most {LARGEST[dtype]:,.6g}; {has}")
        self._keep(PackedLinear(weight, joined, dtype, memory=memory))

    @classmethod
    def over(cls, packed: PackedLinear) -> Linear:
        """Return the layer of a packed matrix."""
        made = cls.__new__(cls)
        made._keep(packed)
        return made

    def _keep(self, packed: PackedLinear) -> None:
        self.packed = packed
        self.shape: tuple[int, int] = packed.shape
        self.dtype: str = packed.kind

    kind = renamed.attribute("kind", "dtype")

    def __call__(
        self,
        x: ArrayLike,
        *,
        activation: str = "identity",
        residual: ArrayLike | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Return activation(x Wᵀ + b) + residual (…, n) for x (…, k).

        `out` may be `residual`, but must not overlap it otherwise, nor x, else ShapeError.
        """
        made = floats(x, "x")
        if not made.ndim or made.shape[-1] != self.shape[1]:
            raise ShapeError(f"x has shape {made.shape} and the weight {self.shape}; x must end in {self.shape[1]}")
        if activation not in FUSED:
            raise OptionError(f"activation is {activation!r}; it must be one of {', '.join(FUSED)}")
        result = output(out, (*made.shape[:-1], self.shape[0]))
        more = added_rows(residual, result.shape)
        rows, to = matrix(made, "x"), rows_of(result, self.shape[0])
        if out is not None:
            check_overlap(to, in_place={"residual": more}, apart={"x": rows})
        self.rows(rows, to, activation, more)
        return result

    def rows(self, x: Floats, y: Floats, activation: str = "identity", residual: Floats | None = None) -> Floats:
        """Write the result for float32 x (m, k), which must fit, to y (m, n), and return y."""
        self.packed.run(x, y, activation=activation, residual=residual, threads=current_threads())
        return y
