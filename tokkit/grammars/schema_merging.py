"""Merges JSON schemas: resolves references and `allOf` into one schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from tokkit.errors import GrammarError

Schema = dict[str, Any]
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
ANNOTATIONS = frozenset(
    (
        "$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "example",
        "deprecated", "readOnly", "writeOnly",
    )
)  # fmt: skip
OF_TYPES = {
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
    "object": {"properties", "required", "additionalProperties", "minProperties", "maxProperties"},
}
SUPPORTED = frozenset({"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"}.union(*OF_TYPES.values()))
GREATEST = ("minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties")
LEAST = ("maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties")
COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
MAX_MERGED = 10_000
"""Maximum number of merged schemas; references that grow each time they are followed would need more."""


def key_of(value: Any) -> str:
    """Return a key that is equal for equal JSON values with the same order of members."""
    return json.dumps(value, ensure_ascii=False)


def same(a: Any, b: Any) -> bool:
    """Return whether JSON values are equal: 1 equals 1.0, but not true."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    return bool(a == b)


def has_type(value: Any, names: list[str]) -> bool:
    """Return whether a JSON value has one of the types."""
    if value is None:
        return "null" in names
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, (int, float)):
        return "number" in names or ("integer" in names and value == int(value))
    return ("string" if isinstance(value, str) else "array" if isinstance(value, list) else "object") in names


class Merger:
    """Resolves the references of one schema document, and merges."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._flat: dict[str, Schema | bool] = {}

    def flat(self, schema: Any, following: tuple[str, ...] = ()) -> Schema | bool:
        """Return a schema without $ref, allOf, oneOf, const and annotations at its top level, or True or False."""
        if isinstance(schema, bool):
            return schema
        key = key_of(schema)
        if key not in self._flat:
            if len(self._flat) >= MAX_MERGED:
                raise GrammarError(
                    f"the schema needs more than {MAX_MERGED:,} merged schemas; its references do not end"
                )
            self._flat[key] = self._flattened(schema, following)
        return self._flat[key]

    def _flattened(self, schema: Schema, following: tuple[str, ...]) -> Schema | bool:
        made: Schema | bool = {
            name: value
            for name, value in schema.items()
            if name not in ANNOTATIONS | {"$ref", "allOf", "oneOf", "const"}
        }
        if "const" in schema:
            made = self.merged(made, {"enum": [schema["const"]]})
        if "oneOf" in schema:
            made = self.merged(made, {"anyOf": schema["oneOf"]})
        for part in schema.get("allOf", ()):
            made = self.merged(made, self.flat(part, following))
        if "$ref" in schema:
            reference = schema["$ref"]
            if reference in following:
                raise GrammarError(f"the reference {reference!r} leads to itself: {' → '.join(following)}")
            made = self.merged(made, self.flat(self.resolved(reference), (*following, reference)))
        return made

    def resolved(self, reference: str) -> Any:
        """Return the schema that a reference within the document names."""
        if not reference.startswith("#") or (len(reference) > 1 and reference[1] != "/"):
            raise GrammarError(
                f"the reference {reference!r} is not supported; '#' or '#/$defs/NAME' within the schema is"
            )
        found = self._document
        for part in reference[2:].split("/") if len(reference) > 1 else []:
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, Mapping) and name in found:
                found = found[name]
            else:
                raise GrammarError(f"the reference {reference!r} leads nowhere: there is no {name!r}")
        return found

    def merged(self, a: Schema | bool, b: Schema | bool) -> Schema | bool:
        """Return what two flat schemas ask for together."""
        if a is False or b is False:
            return False
        if a is True or a == {}:
            return b
        if b is True or b == {}:
            return a
        a, b = dict(a), dict(b)
        made: Schema = {}
        for groups in (self._object, self._array, self._anything):
            made |= groups(a, b)
        for name in GREATEST + LEAST:
            values = [side.pop(name) for side in (a, b) if name in side]
            if values:
                made[name] = (max if name in GREATEST else min)(values)
        for name in sorted(a.keys() | b.keys()):
            if name in a and name in b and not same(a[name], b[name]):
                raise GrammarError(f"{name} {a[name]!r} together with {name} {b[name]!r} is not supported")
            made[name] = a.get(name, b.get(name))
        return made

    def _anything(self, a: Schema, b: Schema) -> Schema:
        made: Schema = {}
        types = [_types(side.pop("type")) for side in (a, b) if "type" in side]
        if len(types) == 2:
            one, other = (set(names) | ({"integer"} if "number" in names else set()) for names in types)
            both = one & other
            made["type"] = [name for name in TYPES if name in both and not (name == "integer" and "number" in both)]
        elif types:
            made["type"] = types[0]
        values = [side.pop("enum") for side in (a, b) if "enum" in side]
        if values:
            made["enum"] = [
                value for value in values[0] if all(any(same(value, v) for v in rest) for rest in values[1:])
            ]
        options = [side.pop("anyOf") for side in (a, b) if "anyOf" in side]
        if len(options) == 2:
            made["anyOf"] = [{"allOf": [one, other]} for one in options[0] for other in options[1]]
        elif options:
            made["anyOf"] = options[0]
        return made

    def _object(self, a: Schema, b: Schema) -> Schema:
        """Merge properties: a name that only one side lists is one of the other's additional ones."""
        sides = [
            {name: side.pop(name) for name in ("properties", "additionalProperties", "required") if name in side}
            for side in (a, b)
        ]
        made: Schema = {}
        required = [name for side in sides for name in side.get("required", ())]
        if required:
            made["required"] = list(dict.fromkeys(required))
        listed = [side.get("properties", {}) for side in sides]
        others = [side.get("additionalProperties", True) for side in sides]
        names = dict.fromkeys(name for properties in listed for name in properties)
        if names:
            made["properties"] = {
                name: both(*(props.get(name, other) for props, other in zip(listed, others, strict=True)))
                for name in names
            }
        if any("additionalProperties" in side for side in sides):
            made["additionalProperties"] = both(*others)
        return made

    def _array(self, a: Schema, b: Schema) -> Schema:
        sides = [{name: side.pop(name) for name in ("items", "prefixItems") if name in side} for side in (a, b)]
        made: Schema = {}
        first = [side.get("prefixItems", []) for side in sides]
        others = [side.get("items", True) for side in sides]
        longest = max(map(len, first))
        if longest:
            made["prefixItems"] = [
                both(*(some[i] if i < len(some) else other for some, other in zip(first, others, strict=True)))
                for i in range(longest)
            ]
        if any("items" in side for side in sides):
            made["items"] = both(*others)
        return made


def both(a: Any, b: Any) -> Any:
    """Return the schema of what satisfies two."""
    if a is False or b is False:
        return False
    if a is True or a == b:
        return b
    return a if b is True else {"allOf": [a, b]}


def _types(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
