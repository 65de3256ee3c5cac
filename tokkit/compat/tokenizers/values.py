"""Checks arguments, and raises the same classes of errors as tokenizers."""

from __future__ import annotations

import logging
import operator
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

logger = logging.getLogger("tokkit")

T = TypeVar("T")
Check = Callable[[str, Any], Any]
"""(argument's name, value) → value for JSON; TypeError, ValueError or OverflowError for an invalid value."""


def wrong_type(name: str, value: object, wanted: str) -> TypeError:
    """Return the error for a value of the wrong type."""
    return TypeError(f"{name} is {value!r}; it must be {wanted}")


def flag(name: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, bool):
        raise wrong_type(name, value, "True or False")
    return value


def text(name: str, value: Any) -> str:
    """Return a str."""
    if not isinstance(value, str):
        raise wrong_type(name, value, "a str")
    return value


def character(name: str, value: Any) -> str:
    """Return a str of one character."""
    if len(text(name, value)) != 1:
        raise ValueError(f"{name}: expected a string of length 1, not {value!r}")
    return str(value)


def unsigned(name: str, value: Any) -> int:
    """Return an int of at least 0."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_type(name, value, "an int") from None
    if not 0 <= number < 1 << 64:
        raise OverflowError(f"{name} is {number}; it must be an int from 0 to {(1 << 64) - 1}")
    return number


def token_id(name: str, value: Any) -> int:
    """Return an id: an int from 0 to 2**32 - 1."""
    if unsigned(name, value) >= 1 << 32:
        raise OverflowError(f"{name} is {value}; an id is an int from 0 to {(1 << 32) - 1}")
    return operator.index(value)


def single(name: str, value: Any) -> float:
    """Return a number rounded to 32 bits, as tokenizers keeps it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(name, value, "a number")
    return float(struct.unpack("f", struct.pack("f", value))[0])


def optional(check: Check) -> Check:
    """Return a check that also allows None."""
    return lambda name, value: None if value is None else check(name, value)


def listed(name: str, value: Any, each: Callable[[str, Any], T]) -> list[T]:
    """Return a sequence (not a str) as a list of checked values."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise wrong_type(name, value, "a sequence")
    return [each(f"{name}[{i}]", item) for i, item in enumerate(value)]


def choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return a value that must be one of the choices."""
    if text(name, value) not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")
    return str(value)


def camel(name: str) -> str:
    """Return a Python choice in the spelling of files: "merged_with_next" → "MergedWithNext"."""
    return "".join(part.title() for part in name.split("_"))


def snake(name: str) -> str:
    """Return a choice of a file in the spelling of Python."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def ignored(names: Sequence[str]) -> None:
    """Log unknown keywords, which tokenizers prints."""
    for name in names:
        logger.warning("the keyword %s is unknown and ignored", name)
