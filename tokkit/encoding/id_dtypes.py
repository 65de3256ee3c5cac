"""Converts ids, which the core makes as uint32, to other integer types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tokkit.errors import OptionError


def as_dtype(ids: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return ids as integers of this type; OptionError for a type that is not an integer or too small for these ids.

    >>> as_dtype(np.array([7, 50256], dtype=np.uint32), "int64").dtype
    dtype('int64')
    """
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = np.dtype(object)
    if wanted.kind not in "iu":
        raise OptionError(f"dtype is {dtype!r:.80}; it must be an integer type, such as int64")
    if wanted == ids.dtype:
        return ids
    if len(ids) and int(ids.max(initial=0)) > np.iinfo(wanted).max:
        raise OptionError(
            f"dtype is {wanted}, which holds up to {np.iinfo(wanted).max}; there are ids up to {ids.max()}"
        )
    return ids.astype(wanted)
