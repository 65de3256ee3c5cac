"""Checks a JSON schema before it is compiled: lists everything unsupported or invalid, with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokkit.errors import GrammarError
from tokkit.grammars.schema_merging import ANNOTATIONS, COUNTS, GREATEST, LEAST, SUPPORTED, TYPES, Merger
from tokkit.grammars.string_formats import FORMATS

LISTED = 8
"""Maximum number of places that a message lists."""


def check(document: Any, merger: Merger) -> None:
    """Raise GrammarError with everything unsupported in a schema and in the schemas it refers to."""
    wrong = list(dict.fromkeys(_problems(document, "#", merger, set())))
    if wrong:
        more = f" and {len(wrong) - LISTED} more" if len(wrong) > LISTED else ""
        raise GrammarError(f"the schema cannot be used: {'; '.join(wrong[:LISTED])}{more}")


def _problems(schema: Any, place: str, merger: Merger, seen: set[str]) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{place} is {schema!r}; it must be an object, true or false"
        return
    for name, value in schema.items():
        where = f"{place}/{name}"
        if name in ANNOTATIONS or (name == "uniqueItems" and value is False):
            continue
        if name not in SUPPORTED or name == "uniqueItems":
            yield f"{where}: the keyword {name} is not supported"
        elif name in ("properties",):
            if not isinstance(value, dict):
                yield f"{where} is {value!r}; it must be an object"
                continue
            for key, inner in value.items():
                yield from _problems(inner, f"{where}/{key}", merger, seen)
        elif name in ("prefixItems", "anyOf", "oneOf", "allOf"):
            if not isinstance(value, list) or (not value and name != "prefixItems"):
                yield f"{where} is {value!r}; it must be a list of schemas"
                continue
            for i, inner in enumerate(value):
                yield from _problems(inner, f"{where}/{i}", merger, seen)
        elif name in ("items", "additionalProperties"):
            yield from _problems(value, where, merger, seen)
        elif name == "$ref":
            if not isinstance(value, str):
                yield f"{where} is {value!r}; it must be a str"
            elif value not in seen:
                seen.add(value)
                yield from _problems(merger.resolved(value), value, merger, seen)
        else:
            yield from _wrong_value(name, value, where)


def _wrong_value(name: str, value: Any, where: str) -> Iterator[str]:
    if name == "type":
        names = value if isinstance(value, list) else [value]
        if not names or not all(isinstance(each, str) and each in TYPES for each in names):
            yield f"{where} is {value!r}; it must be one of {', '.join(TYPES)}"
    elif name in COUNTS:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0 or value != int(value):
            yield f"{where} is {value!r}; it must be an integer of at least 0"
    elif name in GREATEST + LEAST:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            yield f"{where} is {value!r}; it must be a number"
    elif name == "enum":
        if not isinstance(value, list):
            yield f"{where} is {value!r}; it must be a list of values"
    elif name == "required":
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            yield f"{where} is {value!r}; it must be a list of names"
    elif name == "pattern":
        if not isinstance(value, str):
            yield f"{where} is {value!r}; it must be a str"
    elif name == "format" and not (isinstance(value, str) and value in FORMATS):
        yield f"{where}: the format {value!r} is not supported; it must be one of {', '.join(FORMATS)}"
