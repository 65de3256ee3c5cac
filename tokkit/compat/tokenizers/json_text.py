"""Writes JSON and reprs exactly as tokenizers does: same numbers, order and indents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tokkit.compat.tokenizers.values import single
from tokkit.files import decimals
from tokkit.formats import table_text
from tokkit.formats.table_text import Part

WORDS = frozenset(("prepend_scheme", "behavior", "direction", "strategy", "progress_format"))
"""Fields with names of choices, which a repr shows without quotes."""
MAX_SHOWN = 99
"""Maximum number of entries of a list or an object in a repr."""
MAX_IN_STR = 5
"""Maximum number of entries in a str."""
MAX_TEXT_BYTES = 100
"""Maximum length of a text in a str, in bytes of UTF-8; a repr has all of it."""


def dumps(value: Any, *, pretty: bool = False) -> str:
    """Return JSON without ASCII escapes, on one line or indented by two."""
    if not _has_floats(value):
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ": ") if pretty else (",", ":"), indent=2 if pretty else None
        )
    return _written(value, "\n" if pretty else "")


def fields(given: Mapping[str, Any], *, pretty: bool = False, depth: int = 0) -> Part:
    """Return the JSON of an object at this depth, of which values that are functions write themselves."""
    line = "\n" + "  " * depth if pretty else ""

    def text(value: Any) -> bytes:
        text = dumps(value, pretty=pretty)
        return (text.replace("\n", line + "  ") if pretty else text).encode()

    parts = [(dumps(key).encode(), value if callable(value) else text(value)) for key, value in given.items()]
    return table_text.fields(parts, line.encode(), b": " if pretty else b":")


def _has_floats(value: Any) -> bool:
    """Return whether a value contains floats, which json writes differently; tables of merges have none."""
    if isinstance(value, dict):
        return any(_has_floats(item) for key, item in value.items() if key != "merges")
    if isinstance(value, list):
        return any(isinstance(item, (float, dict, list)) and _has_floats(item) for item in value)
    return isinstance(value, float)


def _written(value: Any, line: str) -> str:
    inner = line + "  " if line else ""
    if isinstance(value, dict) and value:
        colon = ": " if line else ":"
        items = [f"{json.dumps(key, ensure_ascii=False)}{colon}{_written(item, inner)}" for key, item in value.items()]
        return "{" + inner + f",{inner}".join(items) + line + "}"
    if isinstance(value, list) and value:
        return "[" + inner + f",{inner}".join(_written(item, inner) for item in value) + line + "]"
    return decimals.write(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def shown(value: Any, most: int = MAX_SHOWN, key: str = "", name: str = "") -> str:
    """Return the repr of JSON data; objects with a "type", or of a class `name`, are shown as calls.

    Lists and objects show at most `most` entries.
    """
    if isinstance(value, dict):
        return _object(value, most, key, name)
    if isinstance(value, (list, tuple)):
        pair = key in ("sep", "cls", "merges", "vocab") and value and not isinstance(value[0], (list, dict))
        some = [shown(item, most, key) for item in value[:most]] + ["..."] * (len(value) > most)
        return f"({', '.join(some)})" if pair else f"[{', '.join(some)}]"
    if isinstance(value, str):
        return value if key in WORDS else f'"{_shortened(value) if most == MAX_IN_STR else value}"'
    if isinstance(value, float):
        value = single("", value) if key == "dropout" else value
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)


def _shortened(text: str) -> str:
    if len(text) * 4 <= MAX_TEXT_BYTES or len(utf8 := text.encode("utf-8", "replace")) <= MAX_TEXT_BYTES:
        return text
    return utf8[:MAX_TEXT_BYTES].decode("utf-8", "ignore") + "..."


def _object(value: dict[str, Any], most: int, key: str, name: str) -> str:
    if key == "strategy":
        return f"Fixed({value['Fixed']})"
    if key == "pattern" or (key in ("single", "pair") and len(value) == 1):
        kind, inner = next(iter(value.items()))
        if key == "pattern":
            return f"{kind}({shown(inner)})"
        id_ = inner["id"] if kind == "Sequence" else shown(inner["id"])
        return f"{kind}(id={id_}, type_id={inner['type_id']})"
    name = name or CALLS.get(key, "") or ("" if key == "vocab" else value.get("type", ""))
    if name:
        return f"{name}({', '.join(f'{k}={shown(v, most, k)}' for k, v in value.items() if k != 'type')})"
    inside = "SpecialToken" if key == "special_tokens" else ""
    some = [f'"{k}":{shown(v, most, "", inside)}' for k, v in list(value.items())[:most]]
    return "{" + ", ".join(some + ["..."] * (len(value) > most)) + "}"


CALLS = {"truncation": "TruncationParams", "padding": "PaddingParams", "bpe_trainer": "BpeTrainer"}
