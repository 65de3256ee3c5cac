"""Writes attention weights as one standalone HTML page: no network, no other file."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from string import Template

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.errors import ShapeError

MAX_CELLS = 1 << 24
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
#room { position: relative; }
canvas { display: block; position: sticky; left: 0; top: 0; }
canvas:focus-visible { outline: 2px solid #2f6fb5; outline-offset: -2px; }
#mark { position: absolute; left: 0; top: 0; outline: 2px solid #e0731d; pointer-events: none; visibility: hidden; }
</style>
</head>
<body>
<h1>$TITLE</h1>
<form>
<label>Layer <select id="layer"></select></label>
<label>Head <select id="head"></select></label>
</form>
<output id="readout">Point at a square: rows look, columns are looked at. Arrow keys move too.</output>
<div id="frame"><div id="room">
<canvas id="map" tabindex="0" role="img" aria-label="attention weights"></canvas>
<div id="mark"></div>
</div></div>
<script id="data" type="application/json">$DATA</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const text = atob(data.weights), raw = new Uint8Array(text.length);
for (let k = 0; k < raw.length; k++) raw[k] = text.charCodeAt(k);
const steps = new DataView(raw.buffer);
const [layers, heads, rows, columns] = data.shape;
const frame = document.getElementById("frame"), room = document.getElementById("room");
const canvas = document.getElementById("map"), pen = canvas.getContext("2d");
const sheet = document.createElement("canvas"), brush = sheet.getContext("2d");
const mark = document.getElementById("mark"), readout = document.getElementById("readout");
const layer = document.getElementById("layer"), head = document.getElementById("head");
const style = getComputedStyle(document.documentElement);
const dark = matchMedia("(prefers-color-scheme: dark)");
// Browsers lay out 2^24 pixels a side, and draw canvases of 2^12 a side on every device.
const longest = Math.max(rows, columns), farthest = 2 ** 24, most = 2 ** 12;
const cell = Math.max(Math.min(4, Math.floor(farthest / longest)), Math.min(28, Math.floor(1100 / longest)));
const gap = cell > 6 ? 1 : 0, names = cell >= 8;
const font = Math.min(13, Math.max(8, cell - 2)) + "px ui-monospace, monospace";
pen.font = font;
const left = space(data.rows), top_ = space(data.columns);
let wide = 0, high = 0, colours = null, at = null;

function fill(select, n) {
  for (let i = 0; i < n; i++) select.add(new Option(String(i + 1), String(i)));
  select.disabled = n < 2;
}
function shown(token) { return token.replace(/\\n/g, "\\u21b5").replace(/\\t/g, "\\u21e5").replace(/ /g, "\\u2423"); }
function clipped(token) { const s = shown(token); return s.length > 16 ? s.slice(0, 15) + "\\u2026" : s; }
function space(tokens) {
  return names ? Math.ceil(Math.max(...tokens.map(t => pen.measureText(clipped(t)).width))) + 10 : 4;
}
function step(i, j) {
  const plane = Number(layer.value) * heads + Number(head.value);
  return steps.getUint16(2 * ((plane * rows + i) * columns + j), true);
}
function dye() {
  const from = dark.matches ? [24, 30, 40] : [245, 248, 252], to = dark.matches ? [125, 190, 255] : [12, 62, 122];
  const parts = new Uint8ClampedArray(4 * 65536);
  for (let s = 0; s < 65536; s++) {
    for (let c = 0; c < 3; c++) parts[4 * s + c] = from[c] + (to[c] - from[c]) * Math.sqrt(s / 65535);
    parts[4 * s + 3] = 255;
  }
  colours = new Uint32Array(parts.buffer);
}
function lay(i0, i1, j0, j1) {
  const image = new ImageData(j1 - j0, i1 - i0), pixels = new Uint32Array(image.data.buffer);
  for (let i = i0, k = 0; i < i1; i++) for (let j = j0; j < j1; j++) pixels[k++] = colours[step(i, j)];
  sheet.width = image.width, sheet.height = image.height;
  brush.putImageData(image, 0, 0);
}
function seen(from, size, n) {
  return [Math.max(0, Math.floor(from / cell)), Math.min(n, Math.ceil((from + size) / cell))];
}
function paint() {
  const [i0, i1] = seen(frame.scrollTop, high - top_, rows), [j0, j1] = seen(frame.scrollLeft, wide - left, columns);
  const x = left - frame.scrollLeft, y = top_ - frame.scrollTop;
  pen.clearRect(0, 0, wide, high);
  if (i0 < i1 && j0 < j1) {
    lay(i0, i1, j0, j1);
    pen.drawImage(sheet, x + j0 * cell, y + i0 * cell, (j1 - j0) * cell, (i1 - i0) * cell);
  }
  if (gap) {
    for (let i = i0; i < i1; i++) pen.clearRect(0, y + (i + 1) * cell - gap, wide, gap);
    for (let j = j0; j < j1; j++) pen.clearRect(x + (j + 1) * cell - gap, 0, gap, high);
  }
  pen.clearRect(0, 0, left, high), pen.clearRect(0, 0, wide, top_);
  if (names) caption(i0, i1, j0, j1, x, y);
  flag();
}
function caption(i0, i1, j0, j1, x, y) {
  pen.fillStyle = style.getPropertyValue("--ink");
  pen.textAlign = "right";
  for (let i = i0; i < i1; i++) pen.fillText(clipped(data.rows[i]), left - 5, y + (i + .5) * cell);
  pen.textAlign = "left";
  for (let j = j0; j < j1; j++) {
    pen.save();
    pen.translate(x + (j + .5) * cell, top_ - 5);
    pen.rotate(-Math.PI / 2);
    pen.fillText(clipped(data.columns[j]), 0, 0);
    pen.restore();
  }
}
function flag() {
  if (!at) return;
  const [y, x] = at.map(k => k * cell), covered = y < frame.scrollTop || x < frame.scrollLeft;
  mark.style.transform = "translate(" + (left + x) + "px," + (top_ + y) + "px)";
  mark.style.visibility = covered ? "hidden" : "visible";
}
function resize() {
  const w = left + columns * cell + 4, h = top_ + rows * cell + 4;
  room.style.width = w + "px", room.style.height = h + "px";
  frame.style.scrollPadding = top_ + "px 4px 4px " + left + "px";
  mark.style.width = mark.style.height = cell - gap + "px";
  wide = Math.min(w, frame.clientWidth), high = Math.min(h, frame.clientHeight);
  const scale = Math.min(window.devicePixelRatio || 1, most / Math.max(wide, high));
  canvas.width = wide * scale, canvas.height = high * scale;
  canvas.style.width = wide + "px", canvas.style.height = high + "px";
  pen.scale(scale, scale);
  pen.font = font, pen.textBaseline = "middle", pen.imageSmoothingEnabled = false;
  paint();
}
function tell() {
  if (!at) return;
  const [i, j] = at, weight = step(i, j) / 65535 * data.top;
  readout.textContent = shown(data.rows[i]) + " (" + (i + 1) + ") \\u2192 " + shown(data.columns[j]) + " (" + (j + 1)
    + "): " + weight.toFixed(4) + ", layer " + (Number(layer.value) + 1) + ", head " + (Number(head.value) + 1);
}
function point(i, j) {
  if (i < 0 || j < 0 || i >= rows || j >= columns) return;
  at = [i, j];
  tell(), flag();
}
fill(layer, layers), fill(head, heads);
for (const select of [layer, head]) select.addEventListener("change", () => { tell(), paint(); });
canvas.addEventListener("mousemove", event => {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left - left, y = event.clientY - box.top - top_;
  if (x < 0 || y < 0) return;
  point(Math.floor((y + frame.scrollTop) / cell), Math.floor((x + frame.scrollLeft) / cell));
});
canvas.addEventListener("keydown", event => {
  const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!move) return;
  event.preventDefault();
  if (at) point(at[0] + move[0], at[1] + move[1]); else point(0, 0);
  mark.scrollIntoView({ block: "nearest", inline: "nearest" });
});
frame.addEventListener("scroll", paint);
addEventListener("resize", resize);
dark.addEventListener("change", () => { dye(), paint(); });
dye(), resize();
</script>
</body>
</html>
"""


def planes(weights: ArrayLike, tokens: Sequence[str], key_tokens: Sequence[str] | None) -> NDArray[np.float64]:
    """Return weights as (layers, heads, T, S); an error if they do not fit their tokens."""
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

    Layers, or layers and heads, may be missing. `tokens` (T) look, `key_tokens` (S; the same if None) are looked at.
    Pointing at a square, or moving with the arrow keys, shows its weight. The page holds all it needs and loads
    nothing; weights are kept in 16 bits.

    >>> page = attention_html([[1.0, 0.0], [0.3, 0.7]], ["Hello", " world"])
    >>> page.startswith("<!doctype html>"), "http" in page
    (True, False)
    """
    made = planes(weights, tokens, key_tokens)
    if made.size > MAX_CELLS:
        raise ShapeError(
            f"weights have shape {made.shape}, {made.size} numbers; a page holds {MAX_CELLS}: choose heads"
        )
    top = float(made.max())
    steps = np.rint(made / (top or 1.0) * 65535).astype("<u2")
    data = {
        "shape": made.shape,
        "rows": list(tokens),
        "columns": list(tokens if key_tokens is None else key_tokens),
        "top": top,
        "weights": base64.b64encode(steps.tobytes()).decode(),
    }
    # Only ASCII without "<": no token can end the script that holds it.
    text = json.dumps(data).replace("<", "\\u003c")
    heading = html.escape(title).encode("ascii", "xmlcharrefreplace").decode()
    # In one pass, so that text of the title or of a token that looks like a placeholder is kept.
    return Template(PAGE).substitute(TITLE=heading, DATA=text)
