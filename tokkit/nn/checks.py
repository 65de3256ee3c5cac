"""Converts options to int and float, with errors for other types."""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex

import numpy as np

from tokkit.errors import OptionError


def as_int(name: str, value: object, *, minimum: int | None = None) -> int:
    """Return an option as int; OptionError if it is not an integer (numpy's included) of at least `minimum`.

    >>> as_int("n_heads", np.int64(8), minimum=1)
    8
    """
    if type(value) is int and (minimum is None or value >= minimum):
        return value
    rule = "a whole number" if minimum is None else f"a whole number of at least {minimum}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, SupportsIndex):
        raise OptionError(f"{name} is {value!r}; it must be {rule}")
    try:
        made = operator.index(value)
    except TypeError:
        raise OptionError(f"{name} is {value!r}; it must be {rule}") from None
    if minimum is not None and made < minimum:
        raise OptionError(f"{name} is {made}; it must be {rule}")
    return made


def as_float(name: str, value: object, *, minimum: float | None = None, greater_than: float | None = None) -> float:
    """Return an option as float; OptionError if it is not finite, below `minimum` or not above `greater_than`.

    >>> as_float("eps", 1, minimum=0)
    1.0
    """
    rule = "a finite number"
    if minimum is not None or greater_than is not None:
        rule += f" above {greater_than}" if minimum is None else f" of at least {minimum}"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise OptionError(f"{name} is {value!r}; it must be {rule}")
    made = float(value)
    if (
        not math.isfinite(made)
        or (minimum is not None and made < minimum)
        or (greater_than is not None and made <= greater_than)
    ):
        raise OptionError(f"{name} is {made}; it must be {rule}")
    return made
