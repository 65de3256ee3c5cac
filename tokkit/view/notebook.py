"""Shows encodings, tokenizers, comparisons, neighbours and attention in a notebook: tables, and pages in frames."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable
from typing import Any

from tokkit.embeddings.neighbours import Nearest
from tokkit.encoding import Encoding
from tokkit.escaping import visible
from tokkit.models.names import name_of
from tokkit.pipeline.attention import Attention
from tokkit.tokenizer import Tokenizer
from tokkit.view.attention_page import attention_html
from tokkit.view.comparison import Comparison, cells_of
from tokkit.view.tokens_page import encoding_html, framed

MAX_TOKENS = 20_000
"""Maximum number of tokens of an encoding that a notebook shows: 1 MB of its file."""
MAX_SPECIAL = 20
MAX_WEIGHTS = 1 << 20
"""Maximum number of attention weights that a notebook shows: 3 MB of its file."""
HEAD, LEFT = "style='text-align: left'", "style='text-align: left; overflow-wrap: anywhere'"
NUMBER = "style='text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal'"


@functools.singledispatch
def shown(thing: Any) -> str:
    """Return the HTML that a notebook shows for an object; all texts in it are escaped."""
    return f"<pre>{html.escape(visible(repr(thing)))}</pre>"


@shown.register
def _(thing: Encoding) -> str:
    n = len(thing)
    if n <= MAX_TOKENS:
        return framed(encoding_html(thing), "Tokens")
    return framed(encoding_html(thing.truncate(MAX_TOKENS), f"The first {MAX_TOKENS:,} of {n:,} tokens"), "Tokens")


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
        f"<tr><th {HEAD}>{name}</th><td {LEFT}>{html.escape(visible(value))}</td></tr>" for name, value in rows.items()
    )
    return f"<table><caption>Tokenizer</caption>{cells}</table>"


@shown.register
def _(thing: Comparison) -> str:
    head = ("text", "tokenizer", "tokens", "tokens per word", "bytes per token", "compression")
    return _table(head, map(cells_of, thing.rows), 2)


@shown.register
def _(thing: Nearest) -> str:
    rows = ((str(key), f"{similarity:.4f}") for key, similarity in thing)
    return _table(("key", "similarity"), rows, 1)


@shown.register
def _(thing: Attention) -> str:
    weights = thing.weights
    n_layers, per_layer = len(weights), max(1, weights[0].size)
    shown_layers = min(n_layers, max(1, MAX_WEIGHTS // per_layer))
    title = "Attention" if shown_layers == n_layers else f"Attention: the first {shown_layers} of {n_layers} layers"
    if per_layer > MAX_WEIGHTS:
        heads = max(1, MAX_WEIGHTS // max(1, weights[0, 0].size))
        title = f"Attention: layer 1 of {n_layers}, the first {heads} of {weights.shape[1]} heads"
        weights = weights[:, :heads]
    return framed(attention_html(weights[:shown_layers], thing.tokens, title=title), "Attention", height="36em")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], n_left: int) -> str:
    """Return an HTML table whose first columns are text and the others numbers; control characters are escaped."""
    titles = "".join(f"<th {HEAD}>{name}</th>" for name in head)
    lines = "".join(
        "<tr>" + "".join(
            f"<td {LEFT if k < n_left else NUMBER}>{html.escape(visible(cell))}</td>" for k, cell in enumerate(row)
        ) + "</tr>"
        for row in rows
    )  # fmt: skip
    return f"<table><tr>{titles}</tr>{lines}</table>"
