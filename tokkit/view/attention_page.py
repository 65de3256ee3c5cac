"""Writes attention weights as one standalone HTML page: no network, no other file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.errors import ShapeError
from tokkit.view.standalone import in_base64, standalone

MAX_CELLS = 1 << 24
"""Maximum number of weights in a page: at 2 bytes each, 45 MB of HTML. For more, choose layers and heads."""

BODY = """
<form>
<label>View <select id="view"><option value="map">map</option><option value="lines">lines</option>
<option value="grid">all heads</option></select></label>
<label>Layer <select id="layer"></select></label>
<label>Head <select id="head"></select></label>
<span class="scale" aria-hidden="true"><span id="low"></span><i id="scale"></i><span id="top"></span></span>
</form>
<output id="readout">Point at a square: rows look, columns are looked at. Arrow keys move too.</output>
<div id="frame"><div id="room">
<canvas id="map" tabindex="0" role="img" aria-label="attention weights"></canvas>
<div id="mark"></div>
</div></div>
<div id="grid" hidden></div>
<div id="lines" hidden><p id="many"></p><ol id="left" aria-label="Tokens that look"></ol>
<canvas id="threads" aria-hidden="true"></canvas><ol id="right" aria-label="Tokens that are looked at"></ol></div>
"""


def planes(weights: ArrayLike, tokens: Sequence[str], key_tokens: Sequence[str] | None) -> NDArray[np.float64]:
    """Return weights as (layers, heads, T, S); ShapeError if they do not fit the tokens."""
    made = np.asarray(weights, dtype=np.float64)
    if not 2 <= made.ndim <= 4:
        raise ShapeError(
            f"weights have shape {made.shape}; they must be (layers, heads, T, S), (heads, T, S) or (T, S)"
        )
    made = made[(None,) * (4 - made.ndim)]
    for name, given in (("tokens", tokens), ("key_tokens", () if key_tokens is None else key_tokens)):
        for i, token in enumerate(given):
            if not isinstance(token, str):
                raise TypeError(f"{name}[{i}] is {type(token).__name__}, not str; give the tokens' texts")
    counts = len(tokens), len(tokens if key_tokens is None else key_tokens)
    if made.shape[2:] != counts:
        raise ShapeError(
            f"weights have shape {made.shape}, but there are {counts[0]} query tokens and {counts[1]} key tokens"
        )
    if not made.size:
        raise ShapeError(f"weights have shape {made.shape}; there is nothing to draw")
    if not np.isfinite(made).all() or made.min() < 0:
        raise ShapeError("weights must be finite and not negative; give softmax's result, not scores")
    return made


def attention_html(
    weights: ArrayLike,
    tokens: Sequence[str],
    *,
    key_tokens: Sequence[str] | None = None,
    title: str = "Attention",
) -> str:
    """Return a page that shows attention weights (layers, heads, T, S), one layer and head at a time.

    The first axis, or the first two, may be missing. `tokens` (T) attend to `key_tokens` (S), the same ones if None.
    Pointing at a square, or moving with the arrow keys, shows its weight. The mean of a layer's heads can be chosen
    like a head. Other views have the maps of all heads at once, and lines from each token to those that it attends to.
    The page holds all it needs and loads nothing; weights are kept in 16 bits.

    >>> page = attention_html([[1.0, 0.0], [0.3, 0.7]], ["Hello", " world"])
    >>> page.startswith("<!doctype html>"), "://" in page
    (True, False)
    """
    made = planes(weights, tokens, key_tokens)
    if made.size > MAX_CELLS:
        raise ShapeError(
            f"weights have shape {made.shape}, {made.size} numbers; the maximum of a page is {MAX_CELLS}: choose heads"
        )
    top = float(made.max())
    data = {
        "shape": made.shape,
        "rows": list(tokens),
        "columns": list(tokens if key_tokens is None else key_tokens),
        "top": top,
        "weights": in_base64(np.rint(made / (top or 1.0) * 65535), "<u2"),
    }
    return standalone(title, BODY, ["attention.css", "attention.js", "attention_views.js"], data)
