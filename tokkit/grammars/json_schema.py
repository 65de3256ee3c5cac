"""`Json` and `JsonSchema`: the grammars of any JSON value, and of the values that satisfy a schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from math import ceil, floor, isfinite
from typing import Any

from tokkit import limits
from tokkit.errors import GrammarError
from tokkit.grammars import nodes
from tokkit.grammars.grammar import Grammar
from tokkit.grammars.json_text import CHARACTER, STRING, VALUE, JsonText, Whitespace, in_string, key_except
from tokkit.grammars.nodes import Call, Node, OneOf, Repeat, Rules, Texts, one_of, optional, sequence, text
from tokkit.grammars.number_ranges import Bound, decimals, integers
from tokkit.grammars.regular import regular
from tokkit.grammars.schema_checks import check
from tokkit.grammars.schema_merging import OF_TYPES, TYPES, Merger, Schema, has_type, key_of
from tokkit.grammars.string_formats import FORMATS


class Json(Grammar):
    """Any JSON value, without white space before or after it.

    `whitespace` between its parts is "flexible" (any), "compact" (none), or "spaced" (one space after each comma and
    colon, as json.dumps writes in Python).
    """

    def __init__(self, *, whitespace: Whitespace = "flexible") -> None:
        self._text = JsonText(whitespace)

    def rules(self) -> Rules:
        """Return the grammar's rules."""
        return Rules(self._text.rules, VALUE.rule)


class JsonSchema(Grammar):
    """JSON that satisfies a schema (draft 2020-12; docs/how-to/constrain.md lists the keywords).

    `schema` is a mapping, a bool or JSON text. Members of objects come in the order of `properties`, others after them.
    `oneOf` is read as `anyOf`. A schema without a type gets the type that its keywords apply to. GrammarError lists
    unsupported keywords, and is also raised for a schema that no text satisfies.

    >>> JsonSchema({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
    JsonSchema({'type': 'object', 'properties': {'age': {'type': 'integer'}}, 'required': ['age']})
    """

    def __init__(self, schema: Mapping[str, Any] | bool | str, *, whitespace: Whitespace = "flexible") -> None:
        try:
            # Also copies the schema, and converts Python values to JSON.
            document = schema if isinstance(schema, str) else json.dumps(schema, allow_nan=False)
            self.schema: Schema | bool = json.loads(document, parse_float=_finite, parse_constant=_finite)
        except (TypeError, ValueError, RecursionError) as error:
            raise GrammarError(f"the schema is not JSON: {error}") from None
        if not isinstance(self.schema, (dict, bool)):
            raise GrammarError(f"the schema is {self.schema!r}; it must be an object, true or false")
        try:
            self._rules = _Schemas(self.schema, JsonText(whitespace)).rules()
        except RecursionError:
            raise GrammarError("the schema is nested too deeply") from None

    def rules(self) -> Rules:
        """Return the grammar's rules."""
        return self._rules

    def __repr__(self) -> str:
        return f"JsonSchema({self.schema!r})"


class _Schemas:
    """Creates a rule for each schema in a document; equal schemas share a rule, so references may be recursive."""

    def __init__(self, document: Schema | bool, json_text: JsonText) -> None:
        self._json = json_text
        self._merger = Merger(document)
        check(document, self._merger)
        self._rules: dict[str, Node] = {}
        self._places: dict[str, str] = {}
        self._waiting: list[tuple[str, Schema]] = []
        self._start = self._rule(document, "#")

    def rules(self) -> Rules:
        limit = limits.current().pattern_size
        while self._waiting:
            if len(self._rules) > limit:
                raise limits.exceeded("pattern_size", f"the schema needs more than {limit:,} rules", GrammarError)
            name, schema = self._waiting.pop()
            self._rules[name] = self._node(schema, self._places[name].removeprefix("the schema at "))
        made: dict[str, Node] = {**self._json.rules, **self._rules, "": self._start}
        return Rules(made, "", self._places | {"": "the schema"})

    def _rule(self, schema: Any, place: str) -> Node:
        """Return the node of a schema: a call of its rule, which is created later."""
        flat = self._merger.flat(schema)
        if flat is True or flat == {}:
            return VALUE
        name = f"false at {place}" if isinstance(flat, bool) else key_of(flat)
        if name not in self._places:
            self._places[name] = f"the schema at {place}"
            self._rules[name] = OneOf(())
            if not isinstance(flat, bool):
                self._waiting.append((name, flat))
        return Call(name)

    def _node(self, schema: Schema, place: str) -> Node:
        if "anyOf" in schema:
            base = {name: value for name, value in schema.items() if name != "anyOf"}
            options = [
                self._rule(self._merger.merged(base, self._merger.flat(option)), f"{place}/anyOf/{i}")
                for i, option in enumerate(schema["anyOf"])
            ]
            return one_of(*options)
        names = self._types(schema)
        if "enum" in schema:
            beside = sorted(schema.keys() - {"enum", "type"})
            if beside:
                raise GrammarError(
                    f"{place} has enum or const together with {', '.join(beside)}; leave one of them out"
                )
            return self._json.literals(value for value in schema["enum"] if has_type(value, names))
        return one_of(*(self._of_type(name, schema, place) for name in names))

    def _types(self, schema: Schema) -> list[str]:
        if "type" in schema:
            names = schema["type"]
            return [names] if isinstance(names, str) else names
        found = [name for name, keywords in OF_TYPES.items() if keywords & schema.keys()]
        return found if len(found) == 1 else [name for name in TYPES if name != "integer"]

    def _of_type(self, name: str, schema: Schema, place: str) -> Node:
        if name == "null":
            return text("null")
        if name == "boolean":
            return Texts(("true", "false"))
        if name in ("integer", "number"):
            return self._number(name, schema)
        if name == "string":
            return self._string(schema, place)
        return self._array(schema, place) if name == "array" else self._object(schema, place)

    def _number(self, name: str, schema: Schema) -> Node:
        low = [
            Bound(Decimal(str(schema[key])), key[0] == "e") for key in ("minimum", "exclusiveMinimum") if key in schema
        ]
        high = [
            Bound(Decimal(str(schema[key])), key[0] == "e") for key in ("maximum", "exclusiveMaximum") if key in schema
        ]
        least = max(low, default=None)  # of equal bounds the open one
        most = min(high, key=lambda bound: (bound.value, not bound.open), default=None)
        if name == "number":
            return decimals(least, most)
        first = None if least is None else floor(least.value) + 1 if least.open else ceil(least.value)
        last = None if most is None else ceil(most.value) - 1 if most.open else floor(most.value)
        return integers(first, last) if first is None or last is None or first <= last else OneOf(())

    def _string(self, schema: Schema, place: str) -> Node:
        patterns = [schema["pattern"]] if "pattern" in schema else []
        patterns += [FORMATS[schema["format"]]] if "format" in schema else []
        lengths = schema.keys() & {"minLength", "maxLength"}
        if len(patterns) + bool(lengths) > 1:
            asked = sorted(schema.keys() & OF_TYPES["string"])
            raise GrammarError(f"{place} has {' and '.join(asked)}, which cannot be combined; write one pattern")
        if patterns:
            return sequence(text('"'), in_string(regular(patterns[0], search=True)), text('"'))
        if not lengths:
            return STRING
        most = int(schema["maxLength"]) if "maxLength" in schema else None
        return sequence(text('"'), _counted(CHARACTER, int(schema.get("minLength", 0)), most), text('"'))

    def _array(self, schema: Schema, place: str) -> Node:
        least = int(schema.get("minItems", 0))
        most = int(schema["maxItems"]) if "maxItems" in schema else None
        first = [self._rule(item, f"{place}/prefixItems/{i}") for i, item in enumerate(schema.get("prefixItems", []))]
        rest = self._rule(schema.get("items", True), f"{place}/items")
        if most is not None:
            first = first[:most]
        if most is not None and least > most:
            return OneOf(())
        if not first:
            items = self._json.listed(rest, least, most)
            return self._json.enclosed("[]", optional(items) if not least else items)
        n = len(first)
        node = _counted(sequence(self._json.comma, rest), max(least - n, 0), None if most is None else most - n)
        for i in range(n - 1, 0, -1):
            node = sequence(self._json.comma, first[i], node)
            node = node if i < least else optional(node)
        node = sequence(first[0], node)
        return self._json.enclosed("[]", node if least else optional(node))

    def _object(self, schema: Schema, place: str) -> Node:
        properties = dict(schema.get("properties", {}))
        other = schema.get("additionalProperties", True)
        required = schema.get("required", [])
        for name in required:
            properties.setdefault(name, other)
        least = int(schema.get("minProperties", 0))
        most = int(schema["maxProperties"]) if "maxProperties" in schema else None
        others = self._rule(other, f"{place}/additionalProperties")
        if not properties:
            return self._json.enclosed("{}", self._json.listed(self._json.member(STRING, others), least, most))
        if least > len(required) or most is not None:
            raise GrammarError(
                f"{place} has minProperties or maxProperties together with properties, which is not supported"
            )
        # From the last member to the first: what may follow with a member before it, and without one.
        members = [
            (
                self._json.member(self._json.literal(name), self._rule(value, f"{place}/properties/{name}")),
                name in required,
            )
            for name, value in properties.items()
        ]
        another = self._json.member(key_except(list(properties)), others)
        more: Node = nodes.many(sequence(self._json.comma, another))
        none: Node = self._json.listed(another)
        if other is False:
            more = none = text("")
        for i in range(len(members) - 1, -1, -1):
            member, must = members[i]
            after, alone = self._named(more, f"{place}, members after {i}"), self._named(none, f"{place}, from {i} on")
            with_one = sequence(self._json.comma, member, after)
            first_one = sequence(member, after)
            more = with_one if must else OneOf((with_one, after))
            none = first_one if must else OneOf((first_one, alone))
        return self._json.enclosed("{}", none)

    def _named(self, node: Node, name: str) -> Node:
        """Return a call of a node that is used in several places."""
        if isinstance(node, (Call, Texts)):
            return node
        key = f"{len(self._rules)} {name}"
        self._rules[key], self._places[key] = node, name
        return Call(key)


def _finite(number: str) -> float:
    made = float(number)
    if not isfinite(made):
        raise ValueError(f"{number} is not a JSON number, or too large")
    return made


def _counted(node: Node, least: int, most: int | None) -> Node:
    return OneOf(()) if most is not None and most < least else Repeat(node, least, most)
