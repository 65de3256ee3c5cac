"""Makes the JSON schema of a tool from a Python function's annotations and docstring.

The result is that of transformers' `get_json_schema`: Google-style docstrings with Args and Returns sections.
"""

from __future__ import annotations

import enum
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from tokkit.errors import OptionError

_SIMPLE: dict[Any, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    list: {"type": "array"},
    dict: {"type": "object"},
    Any: {},
}
_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?|Warnings?):[ \t]*$", re.MULTILINE
)
_ARGUMENT = re.compile(r"\*{0,2}(\w+)[ \t]*(?:\([^()\n]*\))?:[ \t]*(.*)", re.DOTALL)
_CHOICES = re.compile(r"\(choices:\s*(\[.*?\])\s*\)\s*$", re.DOTALL)


def function_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the schema of a function that a model may call; OptionError for missing or unsupported annotations.

    Every argument needs an annotation and a description. `(choices: ["a", "b"])` at a description's end is an enum.

    >>> def add(a: int, b: int = 1) -> int:
    ...     '''Add two numbers.
    ...
    ...     Args:
    ...         a: the one
    ...         b: the other
    ...     '''
    >>> function_schema(add)["function"]["parameters"]["properties"]["a"]
    {'type': 'integer', 'description': 'the one'}
    """
    name = getattr(function, "__name__", None)
    if not callable(function) or name is None:
        raise OptionError(f"a tool is {function!r:.80}; it must be a function or a JSON schema")
    about, described, returned = _docstring(function, name)
    try:
        hints = typing.get_type_hints(function)
        parameters = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise OptionError(f"the tool {name}: its annotations cannot be read: {error}") from None
    properties, required = {}, []
    for parameter in parameters:
        if parameter.name in ("self", "cls"):
            continue
        where = f"the tool {name}, argument {parameter.name!r}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise OptionError(f"{where}: * and ** arguments cannot be in a schema; name each argument")
        if parameter.name not in hints:
            raise OptionError(f"{where}: an annotation is missing, such as {parameter.name}: str")
        if parameter.name not in described:
            raise OptionError(f"{where}: the docstring's Args section does not describe it")
        properties[parameter.name] = _described(
            _of_type(hints[parameter.name], where), described[parameter.name], where
        )
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    schema: dict[str, Any] = {"name": name, "description": about}
    schema["parameters"] = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    if "return" in hints:
        schema["return"] = _of_type(hints["return"], f"the tool {name}, its result")
        if returned is not None:
            schema["return"]["description"] = returned
    return {"type": "function", "function": schema}


def _docstring(function: Callable[..., Any], name: str) -> tuple[str, dict[str, str], str | None]:
    """The descriptions in a docstring, of the function, each argument, and the result."""
    text = inspect.getdoc(function)
    if not text:
        raise OptionError(f"the tool {name} has no docstring; the model reads it")
    about, *sections = _SECTION.split(text)
    found = dict(zip(sections[::2], map(inspect.cleandoc, ("\n" + body for body in sections[1::2])), strict=True))
    arguments = found.get("Args") or found.get("Arguments") or found.get("Parameters") or ""
    described = {}
    for entry in re.split(r"\n(?=\S)", arguments):
        if match := _ARGUMENT.match(entry):
            described[match[1]] = _one_line(match[2])
    returned = found.get("Returns")
    return about.strip(), described, _one_line(returned) if returned else None


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.strip().split("\n") if line.strip())


def _described(schema: dict[str, Any], text: str, where: str) -> dict[str, Any]:
    """Add a description, and the choices at its end."""
    if match := _CHOICES.search(text):
        try:
            schema["enum"] = json.loads(match[1])
        except ValueError:
            raise OptionError(f"{where}: the choices are {match[1]}; they must be a JSON list") from None
        text = text[: match.start()].strip()
    return {**schema, "description": text}


def _of_type(hint: Any, where: str) -> dict[str, Any]:
    """The schema of an annotation."""
    try:
        if hint in _SIMPLE:
            return dict(_SIMPLE[hint])
    except TypeError:  # an annotation that cannot be a key
        pass
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _of_union(args, where)
    if origin is typing.Literal:
        return _of_values(args, where)
    if origin is list:
        return {"type": "array", "items": _of_type(args[0], where)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of_type(args[1], where)}
    if origin is tuple and len(args) > 1 and Ellipsis not in args:
        return {"type": "array", "prefixItems": [_of_type(arg, where) for arg in args]}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _of_values([member.value for member in hint], where)
    raise OptionError(
        f"{where}: {hint!r} has no schema; str, int, float, bool, list, dict[str, ...], tuples of two or more, "
        "Optional, Union, Literal and Enum have (or give the tool as a JSON schema)"
    )


def _of_union(args: Iterable[Any], where: str) -> dict[str, Any]:
    schemas = [_of_type(arg, where) for arg in args if arg is not types.NoneType]
    if len(schemas) == 1:
        schema = schemas[0]
    elif all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        schema = {"type": sorted(schema["type"] for schema in schemas)}
    else:
        schema = {"anyOf": schemas}
    return schema | ({"nullable": True} if types.NoneType in args else {})


def _of_values(values: Iterable[Any], where: str) -> dict[str, Any]:
    values = list(values)
    kinds = list(dict.fromkeys(_of_type(type(value), where).get("type") for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}
