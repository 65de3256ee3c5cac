"""Writes a tokenizer as a tokenizer.json, and shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokkit._core.writing import JsonWriter
from tokkit.compat.tokenizers import json_text
from tokkit.compat.tokenizers.component import dumped, is_custom, json_of
from tokkit.formats.table_text import INDENTED, ONE_LINE

if TYPE_CHECKING:
    from tokkit.compat.tokenizers.tokenizer import Tokenizer


def json(tok: Tokenizer, *, pretty: bool = False) -> JsonWriter:
    """Return the JSON; FormatError for a component in Python."""
    out = JsonWriter()
    added = tok._added.text(INDENTED if pretty else ONE_LINE)
    stages = {key: stage._part(pretty=pretty) for key, stage in tok._stages.items() if stage is not None}
    model = tok._model._text(pretty=pretty, depth=1)
    json_of({**_head(tok), **stages, "added_tokens": added, "model": model}, pretty=pretty)(out)
    return out


def _head(tok: Tokenizer) -> dict[str, Any]:
    """Return the parts of a tokenizer.json without its tables, in their order."""
    stages = {key: None if stage is None else stage._json() for key, stage in tok._stages.items()}
    return {"version": "1.0", **tok._lengths.json(), "added_tokens": [], **stages}


def shown(tok: Tokenizer, most: int) -> str:
    """Return the repr, with at most `most` entries of lists and objects."""
    if any(stage is not None and is_custom(stage._state) for stage in tok._stages.values()):
        dumped(_head(tok))
    whole = {**_head(tok), "added_tokens": tok._added.json(), "model": tok._model._json(most + 1)}
    return json_text.shown(whole, most, name="Tokenizer")
