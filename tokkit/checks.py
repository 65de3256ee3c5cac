"""Checks of arguments that several rooms share."""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Set
from typing import Any

TEXT = (str, bytes, bytearray, memoryview)
"""The types of one text."""
MAX_NAME = 40
"""Characters of a key or column that a message shows."""


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
