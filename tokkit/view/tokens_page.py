"""Writes the tokens of a text, by one tokenizer or several, as one standalone HTML page."""

from __future__ import annotations

import html as markup
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.errors import OptionError
from tokkit.escaping import visible
from tokkit.view.standalone import in_base64, standalone
from tokkit.view.token_parts import Parts, TokenParts, with_parts
from tokkit.view.token_spans import TokenSpans, encoded, told

if TYPE_CHECKING:
    from tokkit.encoding import Encoding
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

MAX_BYTES = 8 << 20
"""Maximum bytes of text in a page: 11 MB of HTML, and about 8 bytes more for each token."""
MAX_COMPARED = 8
"""Tokenizers side by side; more columns are too narrow to read."""
FILES = ("tokens.css", "text.js", "tokens.js", "heads.js", "panes.js", "tokens_page.js")
BODY = """
<form>
<label>Show <select id="show"><option>text</option><option>ids</option></select></label>
<label><input id="marks" type="checkbox" checked> White space and invisible characters</label>
</form>
<div id="panes" role="region" aria-label="Tokens; arrow keys move"></div>
<output id="readout" aria-live="polite">Point at a token, or move with the arrow keys.</output>
"""


def html(
    tok: Tokenizer | Mapping[str, Tokenizer],
    text: str | bytes,
    *,
    title: str = "Tokens",
    special: Special = "text",
    add_special: bool = False,
) -> str:
    """Return a page that shows the tokens of a text in colours, for one tokenizer or several side by side.

    Pointing at a token, or moving with the arrow keys, shows its id, bytes and offsets. The page is self-contained and
    loads nothing; texts in it are escaped. Several tokenizers are given by name, and differences to the first are
    marked. `special` and `add_special` are as in calling a tokenizer. OptionError for a text of more than 8 MiB, and
    for fewer than 1 or more than 8 tokenizers.

    >>> import tokkit
    >>> page = html(tokkit.train({"low": 5, "lowest": 2}, vocab_size=260), "low lower")
    >>> page.startswith("<!doctype html>"), "://" in page
    (True, False)
    """
    toks = dict(tok) if isinstance(tok, Mapping) else {tok.name or "tokenizer": tok}
    if not 1 <= len(toks) <= MAX_COMPARED:
        raise OptionError(f"{len(toks)} tokenizers were given; a page compares 1 to {MAX_COMPARED}")
    utf8 = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if len(utf8) > MAX_BYTES:
        raise OptionError(f"the text has {len(utf8)} bytes; a page holds {MAX_BYTES}: give a part of it")
    sets = []
    for name, each in toks.items():
        spans = encoded(each, utf8, special=special, add_special=add_special)
        ids = np.unique(spans.ids).tolist()
        parts = TokenParts(each).of(ids)
        sets.append(data_of(name, spans, told(each, with_parts(ids, parts)), parts))
    return standalone(title, BODY, FILES, {"utf8": in_base64(np.frombuffer(utf8, dtype=np.uint8), "u1"), "sets": sets})


def encoding_html(encoding: Encoding, title: str = "Encoding") -> str:
    """Return a page with the tokens of an encoding; text between them, which is unknown, is shown as a space."""
    parts: list[bytes] = []
    starts, ends, at, before = [], [], 0, 0
    for surface, (start, end) in zip(encoding.column("surfaces"), encoding.byte_offsets, strict=True):
        if start > before and parts:
            parts.append(b" ")
            at += 1
        parts.append(surface if end > start and start >= before else b"")
        starts.append(at)
        at += len(parts[-1])
        ends.append(at)
        before = end or before
    spelt = zip(encoding.ids, encoding.token_bytes, encoding.special_tokens_mask, strict=True)
    tokens = {id_: (token.hex(), None, added) for id_, token, added in spelt}
    spans = TokenSpans(encoding.column("ids"), np.array(starts, dtype=np.uint32), np.array(ends, dtype=np.uint32))
    utf8 = b"".join(parts)
    sets = [data_of("", spans, tokens)]
    return standalone(title, BODY, FILES, {"utf8": in_base64(np.frombuffer(utf8, dtype=np.uint8), "u1"), "sets": sets})


def data_of(name: str, spans: TokenSpans, tokens: Mapping[int, Any], parts: Parts | None = None) -> dict[str, Any]:
    """Return the data of one tokenizer for a page."""
    columns = {key: in_base64(getattr(spans, key), "<u4") for key in ("ids", "starts", "ends")}
    return {"name": name, "n": len(spans), **columns, "tokens": tokens, "parts": parts or {}}


def framed(page: str, title: str, height: str = "20em") -> str:
    """Return a page as a sandboxed iframe, isolated from the scripts and styles of the notebook."""
    return (
        f'<iframe sandbox="allow-scripts" title="{markup.escape(visible(title))}" '
        f'style="width: 100%; height: {height}; border: 0" '
        f'srcdoc="{markup.escape(page)}"></iframe>'
    )
