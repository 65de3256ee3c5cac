"""JSON schemas as grammars: exactly the texts that satisfy a schema can be written."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import SHARED
from json_schemas import drawn, satisfies
from tokkit import limits
from tokkit.errors import GrammarError
from tokkit.grammars import Grammar, GrammarConstraint, Json, JsonSchema, TokenSpellings

TEXT = ['{"name": "Ann", "tags": ["red", "naïve"], "n": -12.5e3, "東京": null} [true, false] 🦜 \\u00e9 \\n'] * 8
TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object", "required": ["v"], "additionalProperties": False,
            "properties": {"v": {"type": "integer"}, "next": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
        }
    },
}  # fmt: skip
SCHEMAS: list[Any] = [
    True,
    {},
    {"type": "integer", "minimum": -17, "maximum": 1042},
    {"type": "integer", "exclusiveMinimum": 99, "maximum": 100.5},
    {"type": "number", "minimum": -1.25, "maximum": -1.2},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 12.5},
    {"type": "number", "exclusiveMinimum": -0.5},
    {"type": ["string", "null"], "minLength": 2, "maxLength": 5},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}], "items": {"type": "null"}, "minItems": 1},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}], "items": False},
    {"enum": ["red", 1, 1.5, None, True, {"a": [1, "x"]}, []]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}, "name": {"type": "null"}}, "required": ["b"]},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2},
    {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a", "z"]},
    {"oneOf": [{"type": "integer"}, {"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]}]},
    {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 5}]},
    {"allOf": [
        {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
        {"properties": {"a": {"type": ["integer", "string"]}, "b": {"type": "null"}}, "additionalProperties": False},
    ]},
    TREE,
]  # fmt: skip


@cache
def tokens() -> TokenSpellings:
    return TokenSpellings(tokenizer())


@cache
def tokenizer() -> tokkit.Tokenizer:
    return tokkit.train(iter(TEXT), vocab_size=360)


def follows(start: GrammarConstraint, text: str) -> bool:
    """Whether each token of a text is allowed, and then its end."""
    constraint = start.copy()
    for id_ in tokenizer().encode(text):
        if not constraint.allowed()[id_ >> 5] >> (id_ & 31) & 1:
            return False
        constraint.advance(id_)
    return constraint.finished


def written(grammar: Grammar, rng: random.Random, limit: int = 60) -> str | None:
    """A text that a walk along the masks makes; None if it was not whole after so many tokens."""
    constraint = grammar.compile(tokens()).start()
    ids: list[int] = []
    quotes = set(np.flatnonzero([text[:1] in b'"]}' for text in tokens().inside]).tolist())
    for step in range(limit):
        allowed = constraint.allowed_ids().tolist()
        if not allowed or (constraint.finished and rng.random() < 0.4):
            return tokenizer().decode(ids)
        closing = [id_ for id_ in allowed if id_ in quotes]
        ids.append(rng.choice(closing if closing and step > 10 else allowed))
        constraint.advance(ids[-1])
    return tokenizer().decode(ids) if constraint.finished else None


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda each: json.dumps(each)[:60])
def test_what_satisfies_a_schema_is_never_masked_out(schema: Any) -> None:
    rng = random.Random(1)
    layouts: dict[Any, dict[str, Any]] = {
        "flexible": {"indent": 1}, "spaced": {}, "compact": {"separators": (",", ":")}
    }  # fmt: skip
    starts = {name: JsonSchema(schema, whitespace=name).compile(tokens()).start() for name in layouts}
    met = 0
    for _ in range(60):
        value = drawn(schema, schema, rng)
        if satisfies(value, schema, schema):
            met += 1
            for name, options in layouts.items():
                text = json.dumps(value, ensure_ascii=False, **options)
                assert follows(starts[name], text), (name, text)
            assert follows(starts["spaced"], json.dumps(value)) or "enum" in json.dumps(schema)
    assert met


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda each: json.dumps(each)[:60])
def test_what_masks_let_through_satisfies_the_schema(schema: Any) -> None:
    rng = random.Random(2)
    made = [written(JsonSchema(schema, whitespace="compact"), rng) for _ in range(12)]
    whole = [text for text in made if text is not None]
    assert whole
    for text in whole:
        assert satisfies(json.loads(text), schema, schema), text


@pytest.mark.parametrize("schema", SCHEMAS[2:7], ids=lambda each: json.dumps(each)[:60])
def test_bounds_of_numbers_hold_to_the_last_digit(schema: Any) -> None:
    start = JsonSchema(schema).compile(tokens()).start()
    bounds = [schema[name] for name in schema if name != "type"]
    for bound in bounds:
        for step in (0.001, 0.25, 1, 3, 10, 100):
            for value in (bound - step, bound, bound + step, -bound):
                value = round(value, 4)
                if schema["type"] == "integer" and value != int(value):
                    continue
                for text in {f"{value:g}", f"{value:.4f}"} if schema["type"] == "number" else {str(int(value))}:
                    if not text.startswith("-0") or float(text):
                        assert follows(start, text) == satisfies(value, schema, schema), text


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"a": [1, -2.5e+10, "\\u00e9\\ud83d\\ude00\\n"], "": {}}', True), ('"\\ud83d"', False), ('"\\ude00 "', False),
        ('"a\nb"', False), ("01", False), ("1.", False), ("-", False), ("nul", False), ("[1,]", False), ("[ ]", True),
        ("{ }", True), ('{"a" : 1}', True), ("{a: 1}", False), (" 1", False), ("1 ", False), ('"\x7f"', True),
        ("'a'", False), ("NaN", False), ("[" * 500 + "]" * 500, True), ('"\u2028"', True),
    ],
)  # fmt: skip
def test_any_json_and_nothing_else_is_json(text: str, whole: bool) -> None:
    assert follows(Json().compile(tokens()).start(), text) == whole


def test_white_space_is_that_of_the_policy() -> None:
    texts = ['{"a":[1,2]}', '{"a": [1, 2]}', '{\n "a": [\t1, 2 ] }']
    found = {name: [follows(Json(whitespace=name).compile(tokens()).start(), text) for text in texts]
             for name in ("compact", "spaced", "flexible")}  # fmt: skip
    assert found == {"compact": [True, False, False], "spaced": [False, True, False], "flexible": [True] * 3}
    with pytest.raises(GrammarError, match='"flexible", "compact" or "spaced"'):
        Json(whitespace="none")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        ("^a+$", ["a", "aaa"], ["", "ba", "ab"]), ("b", ["b", "abc", "\\nb\\t"], ["", "ac"]),
        ("^(a|b)", ["a", "bcd"], ["cab"]), ("a$|^b", ["cca", "bcc"], ["ab" "c", "cb"]),
        (r'^"\\\n$', ['\\"\\\\\\n'], ["\\u0022\\\\\\n"]), ("^.{2}$", ["東京", "🦜a"], ["東", "abc"]),
    ],
)  # fmt: skip
def test_patterns_are_of_the_text_and_not_of_its_escapes(pattern: str, right: list[str], wrong: list[str]) -> None:
    start = JsonSchema({"type": "string", "pattern": pattern}).compile(tokens()).start()
    assert [follows(start, f'"{text}"') for text in right] == [True] * len(right)
    assert [follows(start, f'"{text}"') for text in wrong] == [False] * len(wrong)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("date", ["2024-02-29", "1999-12-31"], ["2023-02-29", "1900-02-29", "2024-04-31", "24-1-1"]),
        ("time", ["23:59:59Z", "00:00:00.25+02:00"], ["24:00:00Z", "12:00Z", "12:00:00"]),
        ("date-time", ["2026-11-23T18:35:00Z"], ["2026-11-23 18:35:00Z", "2026-11-23"]),
        ("duration", ["P3Y6M4DT12H30M5S", "PT1H", "P2W"], ["P", "PT", "P1S"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567e89b12d3a456426614174000"]),
        ("email", ["a.b+c@d-e.org"], ["a@", "@b", "a b@c", "a@-b", "a..b@c"]),
        ("hostname", ["localhost", "a-1.example.com"], ["-a", "a-", "a..b"]),
        ("ipv4", ["0.0.0.0", "255.249.199.10"], ["256.1.1.1", "1.1.1", "01.1.1.1"]),
    ],
)  # fmt: skip
def test_formats_of_strings(name: str, right: list[str], wrong: list[str]) -> None:
    start = JsonSchema({"type": "string", "format": name}).compile(tokens()).start()
    assert [follows(start, f'"{text}"') for text in right] == [True] * len(right)
    assert [follows(start, f'"{text}"') for text in wrong] == [False] * len(wrong)


def test_members_come_in_the_order_of_properties_and_others_have_other_names() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "null"}, "n": {"type": "null"}}}
    start = JsonSchema(schema).compile(tokens()).start()
    assert follows(start, '{"name": null, "n": null, "nam": 1, "na": 2, "names": 3, "": 4, "x\\u006e": 5}')
    for text in ('{"n": null, "name": null}', '{"name": 1}', '{"n": 1}', '{"\\u006e": 1}', '{"nam\\u0065": 1}'):
        assert not follows(start, text), text


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"not": {}, "properties": {"a": {"if": {}}}, "uniqueItems": True},
         "#/not: the keyword not is not supported; #/properties/a/if: .*#/uniqueItems: the keyword uniqueItems"),
        ({"type": "text"}, "#/type is 'text'; it must be one of null, boolean"),
        ({"type": "string", "format": "color"}, "#/format: the format 'color' is not supported; it must be one of"),
        ({"properties": {"a": 1}}, "#/properties/a is 1; it must be an object, true or false"),
        ({"minItems": -1, "required": "a"}, "#/minItems is -1; it must be an integer of at least 0; #/required is 'a'"),
        ({"anyOf": []}, "it must be a list of schemas"),
        ({"$ref": "#/$defs/b"}, "leads nowhere: there is no '\\$defs'"),
        ({"$ref": "other.json"}, "'#' or '#/\\$defs/NAME' within the schema is"),
        ({"$ref": "#"}, "the reference '#' leads to itself"),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "#.* refers to itself before any character"),
        ({"type": "string", "pattern": "a(?=b)"}, "'a\\(\\?=b\\)' is not supported: a place in the text, a look-ahead"),
        ({"type": "string", "pattern": "a", "maxLength": 3}, "# has maxLength and pattern, which cannot be combined"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "no text satisfies the schema at #"),
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "no text satisfies .*#/properties/a"),
        ({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}, "no text satisfies the schema"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "no text satisfies"),
        ({"enum": ["a"], "minLength": 2}, "enum or const together with minLength"),
        ({"type": "array", "items": {"type": "null"}, "minItems": 10**9}, "pattern_size"),
        ("[1", "the schema is not JSON"),
        (5, "the schema is 5; it must be an object, true or false"),
        ({"default": float("nan")}, "the schema is not JSON"),
        ('{"enum": [1e999]}', "1e999 is not a JSON number, or too large"),
        ('{"minItems": NaN}', "NaN is not a JSON number"),
        ({"type": "string", "format": []}, r"#/format: the format \[\] is not supported"),
    ],
)  # fmt: skip
def test_what_is_not_supported_or_has_no_text_is_refused_with_its_place(schema: Any, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        JsonSchema(schema).compile(tokens())


def test_a_schema_that_is_too_deep_or_too_large_is_refused() -> None:
    deep: Any = {}
    for _ in range(3000):
        deep = {"items": deep, "type": "array"}
    with pytest.raises(GrammarError, match=r"not JSON|nested too deep"):
        JsonSchema(deep).compile(tokens())
    with limits.using(pattern_size=50), pytest.raises(GrammarError, match="pattern_size"):
        JsonSchema(TREE).compile(tokens())


def test_a_schema_may_be_given_as_text_and_is_copied() -> None:
    schema = {"type": "integer"}
    grammar = JsonSchema(schema)
    schema["type"] = "null"
    assert repr(grammar) == "JsonSchema({'type': 'integer'})" == repr(JsonSchema('{"type": "integer"}'))


@pytest.mark.parametrize(
    "name",
    [
        "gpt2/tokenizer.json",
        "mistral-v1/tokenizer.model",
        "phi-3/tokenizer.json",
        "starcoder/ggml-vocab-starcoder.gguf",
    ],
)
def test_tokens_of_published_vocabularies_write_json(name: str) -> None:
    path = SHARED / "vocabs" / name
    if not path.is_file():
        pytest.skip(f"needs {name} in TOKKIT_SHARED_DATA")
    published = tokkit.load(path)
    constraint = Json().compile(published).start()
    for id_ in published.encode('{"name": "Ann é 東 🦜", "n": [1, -2.5e3, true, null],\n "q": "say \\"hi\\"\\n"}'):
        assert constraint.allowed()[id_ >> 5] >> (id_ & 31) & 1
        constraint.advance(id_)
    assert constraint.finished
