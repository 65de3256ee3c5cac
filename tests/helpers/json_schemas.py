"""JSON schemas: a validator that checks keyword by keyword, and random valid values from a seed."""

from __future__ import annotations

import random
import re
from math import inf
from typing import Any

from tokkit.grammars.schema_merging import has_type, same

WORDS = ["", "a", "Ann", "naïve 🦜", 'say "hi"\n', "東京", "\\", "\x01"]


def satisfies(value: Any, schema: Any, root: Any) -> bool:
    """Whether a value satisfies a schema, by the words of the specification."""
    if isinstance(schema, bool):
        return schema
    root = schema if root is None else root
    size = len(value) if isinstance(value, (str, list, dict)) else 0
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    types = schema.get("type", [])
    checks: list[bool] = [not types or has_type(value, [types] if isinstance(types, str) else types)]
    if "$ref" in schema:
        found = root
        for part in schema["$ref"].split("/")[1:]:
            found = found[part]
        checks.append(satisfies(value, found, root))
    checks += [satisfies(value, each, root) for each in schema.get("allOf", [])]
    checks += [
        any(satisfies(value, each, root) for each in schema[name]) for name in ("anyOf", "oneOf") if name in schema
    ]
    if "enum" in schema or "const" in schema:
        checks.append(any(same(value, each) for each in schema.get("enum", [schema.get("const")])))
    if number is not None:
        checks += [number >= schema.get("minimum", number), number <= schema.get("maximum", number)]
        checks += [number > schema.get("exclusiveMinimum", -inf), number < schema.get("exclusiveMaximum", inf)]
    for kind, of in ((str, "Length"), (list, "Items"), (dict, "Properties")):
        if isinstance(value, kind):
            checks += [size >= schema.get(f"min{of}", 0), size <= schema.get(f"max{of}", size)]
    if isinstance(value, str) and "pattern" in schema:
        checks.append(re.search(schema["pattern"].replace("$", r"\Z"), value) is not None)
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        checks += [satisfies(item, first[i] if i < len(first) else schema.get("items", True), root)
                   for i, item in enumerate(value)]  # fmt: skip
    if isinstance(value, dict):
        listed, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        checks += [name in value for name in schema.get("required", [])]
        checks += [satisfies(item, listed.get(name, other), root) for name, item in value.items()]
    return all(checks)


def drawn(schema: Any, root: Any, rng: random.Random, depth: int = 0) -> Any:
    """Return a value that should satisfy a schema without patterns; members are in the order of `properties`."""
    if isinstance(schema, bool) or not schema:
        return rng.choice([None, True, -3, 2.5, "x", [], {}, [1, {"k": None}]])
    for name in ("allOf", "anyOf", "oneOf"):
        if name in schema:
            made = {key: value for key, value in schema.items() if key != name}
            for part in schema[name] if name == "allOf" else [rng.choice(schema[name])]:
                made |= part | {"properties": {**made.get("properties", {}), **part.get("properties", {})}}
            return drawn({key: value for key, value in made.items() if value != {}}, root, rng, depth)
    if "$ref" in schema:
        found = root
        for part in schema["$ref"].split("/")[1:]:
            found = found[part]
        return drawn(found, root, rng, depth + 1)
    if "enum" in schema or "const" in schema:
        return rng.choice(schema.get("enum", [schema.get("const")]))
    kind = schema["type"] if isinstance(schema["type"], str) else rng.choice(schema["type"])
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1000))
        value = rng.uniform(low, schema.get("maximum", schema.get("exclusiveMaximum", low + 2000)))
        return int(value) if kind == "integer" else round(value, rng.randint(0, 4))
    if kind == "string":
        text = "".join(rng.choices(WORDS, k=rng.randint(0, 3))).ljust(schema.get("minLength", 0), "é")
        return text[: schema.get("maxLength", len(text))]
    if kind == "array":
        first = schema.get("prefixItems", [])
        n = rng.randint(schema.get("minItems", 0), schema.get("maxItems", schema.get("minItems", 0) + 3))
        n = min(n, schema.get("minItems", 0)) if depth > 3 else n
        return [drawn(first[i] if i < len(first) else schema.get("items", {}), root, rng, depth + 1) for i in range(n)]
    if kind == "object":
        listed = schema.get("properties", {})
        listed = listed | {name: {} for name in schema.get("required", []) if name not in listed}
        made = {
            name: drawn(inner, root, rng, depth + 1)
            for name, inner in listed.items()
            if name in schema.get("required", []) or (depth < 4 and rng.random() < 0.6)
        }
        if schema.get("additionalProperties", True) is not False and depth < 3 and rng.random() < 0.4:
            made |= {"namen": drawn(schema.get("additionalProperties", {}), root, rng, depth + 1)}
        return made
    return {"null": None, "boolean": rng.random() < 0.5}[kind]
