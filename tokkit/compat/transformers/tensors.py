"""Makes numpy or torch tensors from lists and arrays of ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit._core.lists import int_rows
from tokkit.errors import OptionError

TENSORS = ("pt", "np")


def choice(name: str, value: Any, *choices: str) -> str:
    """Return a choice as text; it may be a member of transformers' enumerations."""
    text = getattr(value, "value", value)
    if text not in choices:
        raise OptionError(f"{name} is {text!r}; it must be one of {', '.join(choices)}")
    return str(text)


def of_array(array: Any, kind: str) -> Any:
    """Return an array as a tensor of this library; both share memory."""
    return array if kind == "np" else _torch().from_numpy(array)


def maker(kind: str) -> tuple[Callable[[Any], Any], Callable[[Any], bool]]:
    """Return two functions: one makes a tensor from a list or array, one checks whether a value is a tensor."""
    if kind == "np":
        return _numpy_of, lambda value: isinstance(value, np.ndarray)
    torch = _torch()

    def torch_of(value: Any) -> Any:
        if (made := of_rows(value)) is not None:
            return torch.from_numpy(made)
        if isinstance(value, (list, tuple)) and len(value) and isinstance(value[0], np.ndarray):
            return torch.from_numpy(np.array(value))
        return torch.tensor(value, dtype=None if _size(value) else torch.int64)

    return torch_of, torch.is_tensor


def _numpy_of(value: Any) -> Any:
    if (made := of_rows(value)) is not None:
        return made
    nested = isinstance(value, (list, tuple)) and len(value) and isinstance(value[0], (list, tuple, np.ndarray))
    if nested and len({len(row) for row in value}) > 1:
        rows = np.empty(len(value), dtype=object)
        rows[:] = [np.asarray(row) for row in value]
        return rows
    return np.asarray(value, dtype=None if _size(value) else np.int64)


def of_rows(value: Any) -> NDArray[np.int64] | None:
    """Return a list of lists of ints, all of one length, as an array; None for anything else."""
    if type(value) is not list or set(map(type, value)) != {list} or len(set(map(len, value))) > 1 or not value[0]:
        return None
    return int_rows(value, len(value[0]), 0, False)


def _size(value: Any) -> int:
    """Return the number of items in nested lists; 1 for other values."""
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return 1


def _torch() -> Any:
    try:
        import torch  # optional
    except ImportError:
        raise ImportError(
            'return_tensors="pt" needs torch, which is not installed; "np" gives numpy\'s arrays'
        ) from None
    return torch
