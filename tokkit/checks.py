"""Checks of arguments, each with one wording of its error: numbers, flags, text, and several texts."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, KeysView, Mapping, Set
from typing import Any, SupportsIndex

import numpy as np

from tokkit.errors import OptionError

TEXT = (str, bytes, bytearray, memoryview)
"""The types of one text."""
MAX_NAME = 40
"""Characters of a key or column that a message shows."""


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
        number = operator.index(value)
    except TypeError:
        raise OptionError(f"{name} is {value!r}; it must be {rule}") from None
    if minimum is not None and number < minimum:
        raise OptionError(f"{name} is {number}; it must be {rule}")
    return number


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
    number = float(value)
    if (
        not math.isfinite(number)
        or (minimum is not None and number < minimum)
        or (greater_than is not None and number <= greater_than)
    ):
        raise OptionError(f"{name} is {number}; it must be {rule}")
    return number


def checked_int(owner: str, name: str, value: object, minimum: int = 0, maximum: int = (1 << 32) - 1) -> None:
    """Raise OptionError unless `value` is an int from `minimum` to `maximum`, and not a bool."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise OptionError(f"{owner}: {name} is {value!r}; it must be an int from {minimum} to {maximum}")


def check_flag(name: str, value: object) -> None:
    """Raise OptionError if an option is not a bool."""
    if not isinstance(value, bool):
        raise OptionError(f"{name} is {value!r}; it must be True or False")


def is_text(value: object) -> bool:
    """Return whether a value is a str without lone surrogates, so that it has UTF-8."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def ordered(values: Any, name: str = "texts", what: str = "texts", *, tables: bool = False) -> Any:
    """Return the argument `name` unchanged if it can be several texts, else raise TypeError with what to write.

    Several texts are a sequence or another iterable in an order. One text, a mapping (whose keys would be the texts), a
    set (which has no order) and a data frame or table (whose columns would be) are none; `tables` allows the last.

    >>> ordered(["one", "two"])
    ['one', 'two']
    >>> ordered({"text": ["one", "two"]})
    Traceback (most recent call last):
        ...
    TypeError: texts is a dict, whose keys are not the texts; give one of its values, such as texts['text']
    """
    kind = type(values).__name__
    if isinstance(values, TEXT):
        raise TypeError(f"{name} is one {kind}; it must be a sequence of {what}, such as [{name}]")
    if isinstance(values, Mapping):
        such = _such_as(name, list(values))
        raise TypeError(f"{name} is a {kind}, whose keys are not the {what}; give one of its values{such}")
    if isinstance(values, Set) and not isinstance(values, KeysView):
        raise TypeError(f"{name} is a {kind}, which has no order; give a list, such as sorted({name})")
    if not tables and (columns := columns_of(values)) is not None:
        such = _such_as(name, columns)
        raise TypeError(f"{name} is a {kind}, whose columns are not the {what}; give one of them{such}")
    if not isinstance(values, Iterable) and not hasattr(values, "__getitem__"):
        raise TypeError(f"{name} is {kind}; it must be a sequence of {what}")
    return values


def columns_of(values: Any) -> list[Any] | None:
    """Return the names of the columns of a data frame, table or dataset; None for anything else.

    A streaming dataset without names of columns is an iterable of rows.
    """
    names = getattr(values, "column_names", None)
    if names is None and hasattr(values, "__getitem__"):
        names = getattr(values, "columns", None)
    return None if names is None or callable(names) else list(names)


def _such_as(name: str, keys: list[Any]) -> str:
    """Return an example of what to write: the value of "text", or of the first key."""
    if not keys:
        return ""
    key = "text" if "text" in keys else keys[0]
    return f", such as {name}[{key!r:.{MAX_NAME}}]"
