"""Writes word vectors as one standalone HTML page: a map of points, search, and each word's neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.errors import ShapeError
from tokkit.search.exact import top_k
from tokkit.view.projection import Method, drawn
from tokkit.view.standalone import in_base64, standalone

NEIGHBOURS = 10
"""Number of neighbours of a word in a page."""
ROWS = 1 << 12
"""Number of rows whose norms are computed at a time."""

BODY = """
<p id="about"></p>
<form>
<label>Find <input id="find" type="search" autocomplete="off" spellcheck="false"></label>
<span><button id="closer" type="button" aria-label="zoom in">+</button>
<button id="farther" type="button" aria-label="zoom out">&minus;</button>
<button id="whole" type="button">All</button></span>
</form>
<output id="readout">Point at a word; click it for its neighbours. Drag moves, the wheel zooms.</output>
<div id="sides">
<div id="frame">
<canvas id="map" tabindex="0" role="application" aria-label="map of words" aria-describedby="keys"></canvas>
<div id="tip" dir="auto" hidden></div>
</div>
<aside>
<section id="near" hidden><h2 tabindex="-1">Nearest to <bdi id="chosen"></bdi></h2><ol id="neighbours"></ol>
<label id="inside"><input id="drawn" type="checkbox"> of the words on the map</label></section>
<section><h2 id="listed">Words</h2><ol id="words" aria-labelledby="listed"></ol>
<button id="more" type="button">More words</button></section>
</aside>
</div>
<p id="keys">Keys on the map: arrows go to the next word, with Shift they move the map; Enter shows the neighbours;
+ and &minus; zoom, 0 shows all; Escape ends.</p>
"""


def vectors_html(
    keys: Sequence[str],
    vectors: ArrayLike,
    *,
    words: Sequence[str] | None = None,
    counts: ArrayLike | None = None,
    method: Method = "pca",
    seed: int = 0,
    title: str = "Word vectors",
) -> str:
    """Return a page that shows the vectors (n, d) of n keys as points in a plane, projected by `project`.

    `words` are the keys to draw (None: all), at most 20,000; earlier ones get labels first. Pointing at a word shows
    it, with its count if `counts` (n,) are given. A click shows its 10 nearest neighbours by cosine of the vectors (not
    by the drawing), among all keys or those drawn. There are a search box, zoom with the wheel, and keys for all of
    this. The page is self-contained and loads nothing.

    `method` and `seed` are as in `project`. ShapeError if shapes do not match, VocabError for words that are not among
    the keys, OptionError for no words or too many.

    >>> page = vectors_html(["cat", "dog", "car"], [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> page.startswith("<!doctype html>"), "://" in page
    (True, False)
    """
    matrix = np.asarray(vectors)
    many = None if counts is None else np.asarray(counts)
    if many is not None and many.shape != (len(keys),):
        raise ShapeError(f"counts have shape {many.shape}; there are {len(keys)} keys")
    made = drawn(keys, matrix, words, method, seed)
    n = len(made.rows)
    near, cosines = neighbours(matrix, made.rows)
    near_drawn, cosines_drawn = neighbours(matrix[made.rows], np.arange(n))
    # The number of each row in the page: drawn words first, then neighbours that are not drawn.
    numbers = np.full(len(keys), -1, dtype=np.int64)
    numbers[made.rows] = np.arange(n)
    others = np.unique(near[numbers[near] < 0])
    numbers[others] = n + np.arange(len(others))
    data = {
        "words": made.words + [keys[row] for row in others],
        "points": in_base64(_fitted(made.points), "<f4"),
        "counts": None if many is None else [int(n) for n in many[made.rows]],
        "k": [near.shape[1], near_drawn.shape[1]],
        "near": [in_base64(numbers[near], "<u4"), in_base64(near_drawn, "<u4")],
        "cosines": [in_base64(cosines, "<f4"), in_base64(cosines_drawn, "<f4")],
        "about": f"{made.about} Neighbours have the highest cosine among all {len(keys):,}.",
    }
    return standalone(title, BODY, ["vectors.css", "scatter.js", "vectors.js"], data)


def neighbours(vectors: NDArray[np.generic], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for some rows of `vectors` the 10 nearest other rows and their cosines: both (rows, 10 or n - 1).

    Rows that are all 0 come last, with the cosine 0.
    """
    k = min(NEIGHBOURS, len(vectors) - 1)
    if not k:
        return np.empty((len(rows), 0), dtype=np.int64), np.empty((len(rows), 0))
    matrix = vectors.astype(np.float32, copy=False)
    lengths = np.empty(len(matrix), dtype=np.float32)
    for first in range(0, len(matrix), ROWS):
        some = matrix[first : first + ROWS].astype(np.float64)
        lengths[first : first + ROWS] = np.sqrt(np.einsum("ij,ij->i", some, some))
    asked = matrix[rows] / np.maximum(lengths[rows], np.finfo(np.float32).tiny)[:, None]
    found = top_k(matrix, asked, k + 1, lengths=lengths)
    # A row is not its own neighbour; with duplicates of a row, it may not be among the first ones found.
    own = found.rows == rows[:, None]
    order = np.argsort(own, axis=1, kind="stable")[:, :k]
    cosines = np.nan_to_num(np.take_along_axis(found.scores, order, axis=1))
    return np.take_along_axis(found.rows, order, axis=1), cosines


def _fitted(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points moved and scaled, equally in both directions, so that the longer side goes from 0 to 1."""
    moved = points - points.min(axis=0)
    return np.asarray(moved / (float(moved.max()) or 1.0))
