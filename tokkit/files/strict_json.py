"""Reads JSON with checks: errors name the key, and every key must be read."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

from tokkit.errors import FormatError
from tokkit.files import decimals, files

T = TypeVar("T")
_MISSING: Any = object()
_NAMES = {
    dict: "an object", list: "an array", str: "a string", bytes: "a string", int: "an integer", float: "a number",
    bool: "a boolean",
}  # fmt: skip


def kind(value: object) -> str:
    """Return the JSON name of a value's type; GGUF has the same types, with arrays of numpy and strings as bytes."""
    if value is None:
        return "null"
    return "an array" if hasattr(value, "dtype") else _NAMES.get(type(value), type(value).__name__)


def brief(value: object) -> str:
    """Return a value for a message, cut to one line."""
    try:
        text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    except RecursionError:
        text = kind(value)
    return text if len(text) <= 60 else text[:57] + "..."


def loads(data: bytes) -> Any:
    """Parse UTF-8 JSON; FormatError for what is not, a key given twice, NaN, or nesting too deep to read."""
    try:
        return json.loads(
            files.decode(data), object_pairs_hook=_object, parse_constant=_constant, parse_float=decimals.read
        )
    except json.JSONDecodeError as error:
        raise FormatError(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise FormatError("the JSON is nested too deep") from None
    except FormatError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise FormatError(f"not JSON that can be read: {error}") from None


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the object in a JSON file; FormatError, which names the file, for anything else."""
    with files.naming(path):
        value: dict[str, Any] = typed(loads(files.read_bytes(path)), "the file", dict)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise FormatError(f"the key {brief(key)} is given twice in one object")
            seen.add(key)
    return made


def _constant(name: str) -> NoReturn:
    raise FormatError(f"{name} is not JSON")


def typed(value: Any, path: str, *types: type) -> Any:
    """Return a value that must have one of `types`; none are any."""
    # bool is an int to Python, and not to JSON.
    if types and type(value) not in types:
        wanted = " or ".join(kind(None) if t is type(None) else _NAMES[t] for t in types)
        raise FormatError(f"{path}: {wanted} is needed, not {kind(value)}")
    return value


class Section:
    """One object of a file: each key is read once, with a check of its type or value.

    `path` names the object in messages, such as `model.vocab`; "" is the whole file.
    """

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise FormatError(f"{path or 'the file'}: an object is needed, not {kind(value)}")
        self._rest = dict(value)
        self.path = path

    def at(self, key: str) -> str:
        """Return the path of a key of this object."""
        return f"{self.path}.{key}" if self.path else key

    def __contains__(self, key: str) -> bool:
        return key in self._rest

    def take(self, key: str, *types: type, default: Any = _MISSING) -> Any:
        """Return the value of a key, of one of `types` if any are given; without a default the key must be there."""
        value = self._rest.pop(key, default)
        if value is _MISSING:
            raise FormatError(f"{self.at(key)}: missing")
        return value if value is default else typed(value, self.at(key), *types)

    def peek(self, key: str) -> Any:
        """Return the value of a key, or None, without marking it as read."""
        return self._rest.get(key)

    def expect(self, key: str, *allowed: object, why: str = "", optional: bool = True) -> Any:
        """Return the value of a key that must be one of `allowed`; if absent, the first of them."""
        value = self._rest.pop(key, allowed[0] if optional else _MISSING)
        if value is _MISSING:
            raise FormatError(f"{self.at(key)}: missing")
        if not any(type(value) is type(right) and value == right for right in allowed):
            refuse(self.at(key), value, allowed, why)
        return value

    def finish(self) -> None:
        """Raise FormatError for a key that was not read, because an unknown key may change the ids."""
        for key, value in self._rest.items():
            raise FormatError(f"{self.at(key)}: unknown key (its value is {brief(value)})")


def why(error: Exception) -> str:
    """Return what an error says about a file; of a KeyError, that the key is missing."""
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def dataclass_of(kind: type[T], value: object, path: str) -> T:
    """Return a dataclass from the object that `dataclasses.asdict` makes; FormatError unless all types are as stated.

    Where a field states a number or a boolean, 0 and 1 may stand for false and true, and the other way round.
    """
    section, stated = Section(value, path), get_type_hints(kind)
    made: dict[str, Any] = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        types = get_args(stated[field.name]) or (stated[field.name],)
        also = (int, bool) if int in types or bool in types else (int,) if float in types else ()
        default = _MISSING if field.default is dataclasses.MISSING else field.default
        found = section.take(field.name, default=default)
        if type(found) not in also:
            typed(found, section.at(field.name), *types)
        if type(found) is int and not -(1 << 63) <= found < 1 << 64:
            raise FormatError(f"{section.at(field.name)}: {brief(found)} does not fit into 64 bits")
        made[field.name] = float(found) if float in types and type(found) is int else found
    section.finish()
    return kind(**made)


def refuse(path: str, value: object, supported: Iterable[object], why: str = "") -> NoReturn:
    """Raise the FormatError for a value that is valid, but not supported."""
    choices = " or ".join(json.dumps(right) for right in supported)
    shown = json.dumps(value) if isinstance(value, (str, int, float, type(None))) else kind(value)
    raise FormatError(f"{path}: {shown[:60]} is not supported{f' ({why})' if why else ''}; it must be {choices}")
