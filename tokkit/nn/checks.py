"""What was given as a number in, a number of Python's out, or a clear refusal."""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex

import numpy as np

from tokkit.errors import OptionError


def whole(name: str, value: object, *, least: int | None = None) -> int:
    """Return an option that must be a whole number (int, or numpy's) of at least `least`, as int; else OptionError.

    >>> whole("n_heads", np.int64(8), least=1)
    8
    """
    if type(value) is int and (least is None or value >= least):
        return value
    rule = "a whole number" if least is None else f"a whole number of at least {least}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, SupportsIndex):
        raise OptionError(f"{name} is {rule}, not {value!r}")
    try:
        made = operator.index(value)
    except TypeError:
        raise OptionError(f"{name} is {rule}, not {value!r}") from None
    if least is not None and made < least:
        raise OptionError(f"{name} is {rule}, not {made}")
    return made


def real(name: str, value: object, *, least: float | None = None, above: float | None = None) -> float:
    """Return an option that must be a finite number, of at least `least` or above `above`, as float; else OptionError.

    >>> real("eps", 1, least=0)
    1.0
    """
    rule = "a finite number"
    if least is not None or above is not None:
        rule += f" of at least {least}" if least is not None else f" above {above}"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise OptionError(f"{name} is {rule}, not {value!r}")
    made = float(value)
    if not math.isfinite(made) or (least is not None and made < least) or (above is not None and made <= above):
        raise OptionError(f"{name} is {rule}, not {made}")
    return made
