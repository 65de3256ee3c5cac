"""A JSON schema: refused by an error of tokkit, or a grammar whose texts are JSON that satisfies it."""

from __future__ import annotations

import json
import random
import sys

import tokkit
from json_schemas import satisfies
from mutate_json import CHANGE
from tokkit import limits
from tokkit.errors import TokkitError
from tokkit.grammars import JsonSchema, TokenSpellings

__all__ = ["CHANGE", "check"]

DICTIONARIES = ("pattern",)

TOKENIZER = tokkit.train(iter(['{"name": ["a", -1.5e3, true, null], "b": {}} é東🦜 \\u00e9'] * 9), vocab_size=280)
TOKENS = TokenSpellings(TOKENIZER)
STEPS = 60
GREATEST = sys.float_info.max
UNCHECKED = ("pattern", "format", "$ref", "minLength", "maxLength")
"""What the naive checker does not have, or reads otherwise: lengths of texts with lone surrogates, other references."""


def check(data: bytes) -> None:
    rng = random.Random(data)
    try:
        with limits.using(pattern_size=20_000):
            constraint = JsonSchema(data.decode("utf-8", "replace"), whitespace="compact").compile(TOKENS).start()
    except TokkitError:
        return
    ids: list[int] = []
    while len(ids) < STEPS:
        allowed = constraint.allowed_ids().tolist()
        if not allowed or (constraint.finished and rng.random() < 0.3):
            break
        ids.append(rng.choice(allowed))
        constraint.advance(ids[-1])
    if not constraint.finished:
        return
    made = json.loads(TOKENIZER.decode(ids), parse_float=lambda number: max(-GREATEST, min(float(number), GREATEST)))
    schema = json.loads(data.decode("utf-8", "replace"))
    if not any(f'"{name}"' in json.dumps(schema) for name in UNCHECKED):
        assert satisfies(made, schema, schema), made
