"""Shows encodings and tokenizers in a notebook: the page of tokens in a frame, and a table of what a tokenizer is."""

from __future__ import annotations

import functools
import html
from typing import Any

from tokkit.encoding import Encoding
from tokkit.escaping import visible
from tokkit.models.names import name_of
from tokkit.tokenizer import Tokenizer
from tokkit.view.tokens_page import encoding_html, framed

MAX_TOKENS = 20_000
"""Tokens of an encoding that a notebook shows: 1 MB of its file."""
MAX_SPECIAL = 20


@functools.singledispatch
def shown(thing: Any) -> str:
    """Return what a notebook shows of a thing, as HTML in which none of its texts acts."""
    return f"<pre>{html.escape(visible(repr(thing)))}</pre>"


@shown.register
def _(thing: Encoding) -> str:
    n = len(thing)
    if n <= MAX_TOKENS:
        return framed(encoding_html(thing, f"{n:,} token{'' if n == 1 else 's'}"))
    return framed(encoding_html(thing.truncate(MAX_TOKENS), f"The first {MAX_TOKENS:,} of {n:,} tokens"))


@shown.register
def _(thing: Tokenizer) -> str:
    special = [f"{text} = {id_}" for text, id_ in thing.special_tokens.items()]
    more = f" \u2026 and {len(special) - MAX_SPECIAL} more" if len(special) > MAX_SPECIAL else ""
    rows = {
        "name": thing.name or "\u2013",
        "model": name_of(thing.definition.model),
        "tokens": f"{len(thing):,}",
        "ids": f"{thing.n_ids:,}",
        "split by": thing.split_engine,
        "special tokens": (", ".join(special[:MAX_SPECIAL]) or "none") + more,
    }
    cells = "".join(
        f"<tr><th style='text-align: left'>{name}</th><td style='text-align: left'>{html.escape(visible(value))}</td>"
        "</tr>"
        for name, value in rows.items()
    )
    return f"<table><caption>Tokenizer</caption>{cells}</table>"
