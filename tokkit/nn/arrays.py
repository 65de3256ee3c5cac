"""Checks and converts arguments: shapes, dtypes, overlap and thread counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import as_int
from tokkit.errors import OptionError, ShapeError
from tokkit.threads import thread_count

Floats = NDArray[np.float32]
"""The type of all computations: float32 arrays, in any layout."""

DRAWN = 1 << 15
"""Random numbers that are drawn at a time."""

_THREADS: ContextVar[int | None] = ContextVar("tokkit.nn.threads", default=None)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Limit calls in the `with` block to `n` threads; the default is TOKKIT_NUM_THREADS, else the CPUs of this process.

    Threads exist only during a call, small calls use one thread, and results are bit-identical for any number.

    >>> with threads(1):
    ...     current_threads()
    1
    """
    before = _THREADS.set(as_int("threads", n, minimum=1))
    try:
        yield
    finally:
        _THREADS.reset(before)


def current_threads() -> int:
    """Return the number of threads for a call."""
    return thread_count(_THREADS.get())


def floats(array: ArrayLike, name: str) -> Floats:
    """Return `array` as float32 with a contiguous last axis: itself, or a copy if needed.

    float64 and float16 are converted; integers, booleans and other types raise TypeError.

    >>> floats([[0.5, 1.0]], "x").dtype
    dtype('float32')
    """
    if type(array) is np.ndarray and array.dtype == np.float32 and array.flags.c_contiguous:
        return array
    made = np.asarray(array)
    if made.dtype.kind != "f":
        raise TypeError(f"{name} is an array of {made.dtype}; give floating point (float32, float64 or float16)")
    if made.dtype != np.float32:
        made = made.astype(np.float32)
    # Rows are read without a copy, at any stride that is a multiple of the item size.
    if made.ndim and ((made.shape[-1] > 1 and made.strides[-1] != 4) or any(step % 4 for step in made.strides)):
        made = np.ascontiguousarray(made)
    return made


def matrix(array: Floats, name: str, columns: int | None = None) -> Floats:
    """Return (…, columns) as (rows, columns), without a copy if the layout allows it."""
    if not array.ndim or (columns is not None and array.shape[-1] != columns):
        raise ShapeError(f"{name} has shape {array.shape}; its last axis must be {columns}")
    if array.ndim == 2:
        return array
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def added_rows(residual: ArrayLike | None, shape: Sequence[int]) -> Floats | None:
    """Return the residual for a result (…, m) as rows (n, m), or None without one."""
    if residual is None:
        return None
    made = floats(residual, "residual")
    if made.shape != tuple(shape):
        raise ShapeError(f"residual has shape {made.shape} and the result {tuple(shape)}; they must be equal")
    return matrix(made, "residual", made.shape[-1])


def output(out: Floats | None, shape: Sequence[int], name: str = "out") -> Floats:
    """Return `out`, checked to be a writable float32 array of this shape, or a new array."""
    shape = tuple(shape)
    if out is None:
        return np.empty(shape, dtype=np.float32)
    if not isinstance(out, np.ndarray) or out.dtype != np.float32:
        raise TypeError(f"{name} is {getattr(out, 'dtype', type(out).__name__)}; it must be a float32 array")
    if out.shape != shape:
        raise ShapeError(f"{name} has shape {out.shape}; the result has {shape}")
    if not out.flags.writeable or (out.size and out.ndim and out.shape[-1] > 1 and out.strides[-1] != 4):
        raise ShapeError(f"{name} must be writable, and contiguous along its last axis")
    if not out.flags.c_contiguous and _overlaps_itself(out):
        raise ShapeError(f"{name} has strides {out.strides}, so its own numbers overlap; pass a new array")
    return out


def check_overlap(
    out: Floats, *, in_place: Mapping[str, NDArray[Any] | None], apart: Mapping[str, NDArray[Any] | None]
) -> None:
    """Raise ShapeError if `out` shares memory with an input, which would be overwritten before it is read.

    `out` may be exactly one of the arrays `in_place`: kernels write an element after they have read it. It must not
    overlap those in `apart`. Both are the arrays that kernels read: a converted input is a copy and overlaps nothing.
    It is called only if `out` is given, so other calls cost nothing.
    """
    # numpy compares bounds first, and solves for common bytes only if the bounds overlap.
    for name, array in in_place.items():
        if array is None or array is out or not np.shares_memory(array, out) or _is_same(array, out):
            continue
        raise ShapeError(_overlap(out, array, name, f"{name} itself, or "))
    for name, array in apart.items():
        if array is not None and np.shares_memory(array, out):
            raise ShapeError(_overlap(out, array, name, ""))


def _overlap(out: Floats, array: NDArray[Any], name: str, itself: str) -> str:
    (first, end), (out_first, out_end) = _bounds(array), _bounds(out)
    common = min(end, out_end) - max(first, out_first)
    return (
        f"out overlaps {name} by up to {common} bytes, and {name} would change before it is read; pass {itself}an "
        "array that shares no memory with it"
    )


def _bounds(array: NDArray[Any]) -> tuple[int, int]:
    # The address of the first byte, and that after the last.
    address: int = array.__array_interface__["data"][0]
    reach = [step * (n - 1) for n, step in zip(array.shape, array.strides, strict=True)]
    return address + sum(min(r, 0) for r in reach), address + sum(max(r, 0) for r in reach) + array.itemsize


def _is_same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    # Whether all elements have the same addresses; the stride of an axis of length 1 does not count.
    if a.shape != b.shape or a.__array_interface__["data"][0] != b.__array_interface__["data"][0]:
        return False
    return all(n == 1 or by == other for n, by, other in zip(a.shape, a.strides, b.strides, strict=True))


def _overlaps_itself(array: NDArray[Any]) -> bool:
    # Whether a stride is shorter than the extent of the smaller strides, which slices and transposes never have.
    reach = array.itemsize
    for step, n in sorted((abs(step), n) for step, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if step < reach and array.size:
            return True
        reach += step * (n - 1)
    return False


def rows_of(out: Floats, columns: int, name: str = "out") -> Floats:
    """Return an output buffer as (rows, columns) that is the same memory."""
    if out.ndim == 2:
        return out
    made = out.reshape(-1, columns) if out.size else out.reshape(0, columns)
    if out.size and not np.shares_memory(made, out):
        raise ShapeError(f"{name} has strides {out.strides}; its rows must be evenly spaced, as in a new array")
    return made


def ids_of(ids: ArrayLike, name: str = "ids") -> NDArray[np.int64]:
    """Return token ids or positions as int64; floats and booleans raise TypeError."""
    made = np.asarray(ids)
    if made.dtype.kind not in "iu" and made.size:
        raise TypeError(f"{name} is an array of {made.dtype}; it must have integers")
    if made.dtype == np.uint64 and made.size and made.max() > np.iinfo(np.int64).max:
        raise IndexError(f"{name} contain {made.max()}, which is too large for any table")
    return made.astype(np.int64)


def starts_of(starts: ArrayLike, rows: int, name: str) -> NDArray[np.int64]:
    """Return the starts of packed sequences and the last end (n + 1) as int64, checked to ascend from 0 to `rows`."""
    made = np.asarray(starts)
    if made.ndim != 1 or (made.dtype.kind not in "iu" and made.size):
        raise TypeError(f"{name} has shape {made.shape}, of {made.dtype}; give one axis of whole numbers")
    made = np.ascontiguousarray(made, dtype=np.int64)
    if not made.size or made[0] != 0 or made[-1] != rows or (made[1:] < made[:-1]).any():
        shown = f"{made[:20].tolist()}{' …' if made.size > 20 else ''}"
        raise ShapeError(f"{name} is {shown}; it must rise from 0 to the {rows} rows")
    return made


class Named(dict[str, Any]):
    """The weights of one part of a model; `prefix` precedes their names in the whole model, and in messages."""

    def __init__(self, weights: Mapping[str, Any], prefix: str) -> None:
        super().__init__(weights)
        self.prefix = prefix


def full_name(weights: Mapping[str, Any], name: str) -> str:
    """Return the name of a part's weight in the whole model, if known."""
    return weights.prefix + name if isinstance(weights, Named) else name


def take(weights: Mapping[str, Any], name: str, shape: Sequence[int]) -> Floats:
    """Return the weight with this name as contiguous float32, checked for its shape."""
    full = full_name(weights, name)
    if name not in weights:
        raise ShapeError(f"the weights have no {full!r}; it must have shape {tuple(shape)}")
    made = np.ascontiguousarray(floats(weights[name], full))
    if made.shape != tuple(shape):
        raise ShapeError(f"{full} has shape {made.shape}; the configuration requires {tuple(shape)}")
    return made


def take_all(weights: Mapping[str, Any], shapes: Mapping[str, Sequence[int]]) -> Named:
    """Return the weights named in `shapes`, each as by `take`."""
    return Named({name: take(weights, name, shape) for name, shape in shapes.items()}, full_name(weights, ""))


def under(weights: Mapping[str, Any], prefix: str) -> Named:
    """Return the weights whose names begin with `prefix`, without it.

    >>> under({"layers.0.o.weight": 1, "norm.weight": 2}, "layers.0.")
    {'o.weight': 1}
    """
    part = {name[len(prefix) :]: value for name, value in weights.items() if name.startswith(prefix)}
    return Named(part, full_name(weights, prefix))


def _normal(rng: np.random.Generator, std: float, shape: tuple[int, ...]) -> Floats:
    # What rng.normal would draw, some numbers at a time: all of them as float64 would be slow to get from the system.
    made: Floats = np.empty(shape, dtype=np.float32)
    flat, drawn = made.reshape(-1), np.empty(DRAWN)
    for first in range(0, flat.size, DRAWN):
        some = flat[first : first + DRAWN]
        np.multiply(rng.standard_normal(out=drawn[: some.size]), std, out=some, casting="same_kind")
    return made


def initial(
    shapes: Mapping[str, Sequence[int]], *, seed: int, init: str = "normal", std: float = 0.02
) -> dict[str, Floats]:
    """Return initial weights of these shapes: random matrices, biases of 0, weights of norms of 1.

    `init` is "normal" (standard deviation `std`: GPT-2's) or "xavier" (uniform within ±√(6 / (rows + columns)),
    Glorot and Bengio 2010). One seed gives one result.

    >>> {name: w.shape for name, w in initial({"o.weight": (4, 3), "o.bias": (4,)}, seed=0).items()}
    {'o.weight': (4, 3), 'o.bias': (4,)}
    """
    if init not in ("normal", "xavier"):
        raise OptionError(f"init is {init!r}; it must be 'normal' or 'xavier'")
    rng = np.random.default_rng(seed)
    made: dict[str, Floats] = {}
    for name, shape in shapes.items():
        if len(shape) < 2:
            made[name] = np.full(tuple(shape), 0.0 if name.endswith("bias") else 1.0, dtype=np.float32)
        elif init == "normal":
            made[name] = _normal(rng, std, tuple(shape))
        else:
            limit = float(np.sqrt(6.0 / (shape[0] + shape[1])))
            made[name] = rng.uniform(-limit, limit, tuple(shape)).astype(np.float32)
    return made
