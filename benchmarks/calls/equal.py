"""Says where two results differ: of types, values, arrays, mappings, encodings, distributions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

COLUMNS = ("ids", "tokens", "offsets", "word_ids", "type_ids", "attention_mask", "special_tokens_mask")
TOLERANCE = 1e-4
"""By how much floats may differ, of the larger one: two orders of adding float32 numbers."""


def difference(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> str:
    """Return where the results differ, "" if nowhere. Objects of classes are compared by what they say.

    >>> difference([1, (2, 3)], [1, (2, 4)])
    '[1][1]: 3, not 4'
    >>> difference([1], (1,))
    ': a list, not a tuple'
    """
    if ours is theirs:
        return ""
    a, b = _plain(ours), _plain(theirs)
    if _are_equal(a, b):
        return ""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _arrays(a, b, tolerance)
    # A subclass of the original's type does all that the original does.
    if not isinstance(a, type(b)) and not isinstance(b, type(a)):
        return f": a {type(a).__name__}, not a {type(b).__name__}"
    if isinstance(a, dict):
        if {*a} != {*b}:
            return f": keys {_short(sorted(map(str, {*a} ^ {*b})))} on one side only"
        return next((f"[{key!r}]{found}" for key in a if (found := difference(a[key], b[key], tolerance))), "")
    if isinstance(a, list | tuple):
        if len(a) != len(b):
            return f": {len(a)} elements, not {len(b)}"
        pairs = enumerate(zip(a, b, strict=True))
        return next((f"[{i}]{found}" for i, (x, y) in pairs if (found := difference(x, y, tolerance))), "")
    if isinstance(a, float):
        return "" if math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) else f": {a}, not {b}"
    return "" if a == b else f": {_short(a)}, not {_short(b)}"


def _are_equal(a: Any, b: Any) -> bool:
    """Return whether Python finds two values of one type equal, which is quick; arrays within have no such answer."""
    try:
        return type(a) is type(b) and bool(a == b)
    except (ValueError, RuntimeError):  # numpy's, torch's
        return False


def _arrays(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    if a.shape != b.shape:
        return f": shape {a.shape}, not {b.shape}"
    if a.dtype != b.dtype:
        return f": {a.dtype}, not {b.dtype}"
    near = np.allclose(a, b, rtol=tolerance, atol=tolerance) if a.dtype.kind == "f" else np.array_equal(a, b)
    return "" if near else ": other numbers"


def _plain(value: Any) -> Any:
    """Return a value that Python or numpy compares."""
    if isinstance(value, str | bytes | bytearray | int | float | complex | list | set | frozenset | np.ndarray):
        return value
    if isinstance(value, tuple):  # a named tuple is one, whatever its name
        return tuple(value)
    if isinstance(value, Mapping):
        return dict(value)
    if all(hasattr(value, name) for name in COLUMNS):
        return tuple(getattr(value, name) for name in COLUMNS)
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "data") and isinstance(value.data, dict):  # UserDict
        return dict(value.data)
    return value if value is None else str(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def by_distribution(draw: Callable[[Any], Any]) -> Callable[[Any, Any], str]:
    """Return a comparison of two samplers by 4,000 draws each: no outcome may be more than 5 deviations off."""
    draws = 4000

    def compare(ours: Any, theirs: Any) -> str:
        a, b = (Counter(str(draw(side)) for _ in range(draws)) for side in (ours, theirs))
        for outcome in a | b:
            if abs(a[outcome] - b[outcome]) > 5 * math.sqrt(a[outcome] + b[outcome]) + 1:
                return f": {outcome} drawn {a[outcome]} times, not {b[outcome]}"
        return ""

    return compare


def nothing(_ours: Any, _theirs: Any) -> str:
    """Compare nothing: of a call that returns nothing, or a new object whose calls are rows of their own."""
    return ""
