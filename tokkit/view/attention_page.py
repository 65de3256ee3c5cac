"""Attention weights and their tokens in, one standalone HTML page out: no network, no other file."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.errors import ShapeError

MOST_CELLS = 1 << 24
"""Weights that one page holds: 2 bytes each, so 45 MB of HTML. More is a choice of layers and heads."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$TITLE</title>
<style>
:root { color-scheme: light dark; --ink: #1c2430; --quiet: #667085; --paper: #ffffff; --line: #d0d5dd; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --quiet: #98a2b3; --paper: #12161d; --line: #344054; }
}
body { margin: 1.5rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.15rem; margin: 0 0 .75rem; }
form { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; margin-bottom: .75rem; }
label { color: var(--quiet); }
select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); padding: .1rem .4rem }
output { display: block; min-height: 1.5em; font-variant-numeric: tabular-nums; margin-bottom: .5rem; }
#frame { overflow: auto; max-height: 85vh; }
canvas { display: block; }
canvas:focus-visible { outline: 2px solid #2f6fb5; }
</style>
</head>
<body>
<h1>$TITLE</h1>
<form>
<label>Layer <select id="layer"></select></label>
<label>Head <select id="head"></select></label>
</form>
<output id="readout">Point at a square: rows look, columns are looked at. Arrow keys move too.</output>
<div id="frame"><canvas id="map" tabindex="0" role="img" aria-label="attention weights"></canvas></div>
<script id="data" type="application/json">$DATA</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const raw = Uint8Array.from(atob(data.weights), c => c.charCodeAt(0));
const weights = new DataView(raw.buffer);
const [layers, heads, rows, columns] = data.shape;
const canvas = document.getElementById("map"), pen = canvas.getContext("2d");
const layer = document.getElementById("layer"), head = document.getElementById("head");
const readout = document.getElementById("readout");
const cell = Math.max(4, Math.min(28, Math.floor(1100 / Math.max(rows, columns))));
const style = getComputedStyle(document.documentElement);
const dark = matchMedia("(prefers-color-scheme: dark)");
let left = 0, top_ = 0, at = null;

function fill(select, n) {
  for (let i = 0; i < n; i++) select.add(new Option(String(i + 1), String(i)));
  select.disabled = n < 2;
}
function weight(i, j) {
  const plane = Number(layer.value) * heads + Number(head.value);
  return weights.getUint16(2 * ((plane * rows + i) * columns + j), true) / 65535 * data.top;
}
function shown(token) { return token.replace(/\\n/g, "\\u21b5").replace(/\\t/g, "\\u21e5").replace(/ /g, "\\u2423"); }
function clipped(token) { const s = shown(token); return s.length > 16 ? s.slice(0, 15) + "\\u2026" : s; }
function shade(w) {
  const t = Math.sqrt(Math.max(0, Math.min(1, w / (data.top || 1))));
  const from = dark.matches ? [24, 30, 40] : [245, 248, 252], to = dark.matches ? [125, 190, 255] : [12, 62, 122];
  return "rgb(" + from.map((c, k) => Math.round(c + (to[k] - c) * t)).join(",") + ")";
}
function draw() {
  const font = Math.min(13, Math.max(8, cell - 2)) + "px ui-monospace, monospace", names = cell >= 8;
  pen.font = font;
  const width = list => names ? Math.ceil(Math.max(...list.map(t => pen.measureText(clipped(t)).width), 0)) + 10 : 4;
  left = width(data.rows), top_ = width(data.columns);
  const scale = window.devicePixelRatio || 1, w = left + columns * cell + 4, h = top_ + rows * cell + 4;
  canvas.width = w * scale, canvas.height = h * scale;
  canvas.style.width = w + "px", canvas.style.height = h + "px";
  pen.scale(scale, scale);
  pen.font = font, pen.textBaseline = "middle";
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) {
    pen.fillStyle = shade(weight(i, j));
    pen.fillRect(left + j * cell, top_ + i * cell, cell > 6 ? cell - 1 : cell, cell > 6 ? cell - 1 : cell);
  }
  pen.fillStyle = style.getPropertyValue("--ink");
  pen.textAlign = "right";
  if (names) data.rows.forEach((t, i) => pen.fillText(clipped(t), left - 5, top_ + (i + .5) * cell));
  pen.textAlign = "left";
  if (names) data.columns.forEach((t, j) => {
    pen.save();
    pen.translate(left + (j + .5) * cell, top_ - 5);
    pen.rotate(-Math.PI / 2);
    pen.fillText(clipped(t), 0, 0);
    pen.restore();
  });
  if (at) {
    pen.strokeStyle = "#e0731d", pen.lineWidth = 2;
    pen.strokeRect(left + at[1] * cell, top_ + at[0] * cell, cell - 1, cell - 1);
  }
}
function point(i, j) {
  if (i < 0 || j < 0 || i >= rows || j >= columns) return;
  at = [i, j];
  readout.textContent = shown(data.rows[i]) + " (" + (i + 1) + ") \\u2192 " + shown(data.columns[j]) + " (" + (j + 1)
    + "): " + weight(i, j).toFixed(4) + ", layer " + (Number(layer.value) + 1) + ", head " + (Number(head.value) + 1);
  draw();
}
fill(layer, layers), fill(head, heads);
for (const select of [layer, head]) select.addEventListener("change", () => at ? point(...at) : draw());
canvas.addEventListener("mousemove", event => {
  const box = canvas.getBoundingClientRect();
  point(Math.floor((event.clientY - box.top - top_) / cell), Math.floor((event.clientX - box.left - left) / cell));
});
canvas.addEventListener("keydown", event => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return;
  event.preventDefault();
  if (at) point(at[0] + step[0], at[1] + step[1]); else point(0, 0);
});
dark.addEventListener("change", draw);
draw();
</script>
</body>
</html>
"""


def planes(weights: ArrayLike, tokens: Sequence[str], key_tokens: Sequence[str] | None) -> NDArray[np.float64]:
    """Return weights as (layers, heads, T, S), once they are seen to fit their tokens."""
    made = np.asarray(weights, dtype=np.float64)
    if not 2 <= made.ndim <= 4:
        raise ShapeError(
            f"weights have shape {made.shape}; they must be (layers, heads, T, S), (heads, T, S) or (T, S)"
        )
    made = made[(None,) * (4 - made.ndim)]
    counts = len(tokens), len(tokens if key_tokens is None else key_tokens)
    if made.shape[2:] != counts:
        raise ShapeError(f"weights have shape {made.shape}, with {counts[0]} tokens looking at {counts[1]}")
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
    """Return a page that shows weights (layers, heads, T, S): tokens on both axes, a layer and a head at a time.

    Layers, or layers and heads, may be missing. `tokens` (T) look, `key_tokens` (S; the same where None) are looked at.
    Pointing at a square, or moving with the arrow keys, shows its weight. The page holds all it needs and loads
    nothing; weights are kept in 16 bits.

    >>> page = attention_html([[1.0, 0.0], [0.3, 0.7]], ["Hello", " world"])
    >>> page.startswith("<!doctype html>"), "http" in page
    (True, False)
    """
    made = planes(weights, tokens, key_tokens)
    if made.size > MOST_CELLS:
        raise ShapeError(
            f"weights have shape {made.shape}, {made.size} numbers; a page holds {MOST_CELLS}: choose heads"
        )
    top = float(made.max())
    steps = np.rint(made / (top or 1.0) * 65535).astype("<u2")
    data = {
        "shape": made.shape,
        "rows": [str(token) for token in tokens],
        "columns": [str(token) for token in (tokens if key_tokens is None else key_tokens)],
        "top": top,
        "weights": base64.b64encode(steps.tobytes()).decode(),
    }
    # ASCII alone, and no "<": a token cannot end the script that it stands in.
    text = json.dumps(data).replace("<", "\\u003c")
    return PAGE.replace("$TITLE", html.escape(title)).replace("$DATA", text)
