"""Writes a matrix of similarities as one standalone HTML page: no network, no other file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.errors import ShapeError
from tokkit.view.standalone import in_base64, standalone

MAX_LABELS = 2000
"""Maximum number of rows of a matrix in a page: 11 MB of HTML. For more, choose some texts."""
PAIRS = 30
LONGEST_LABEL = 24
BODY = """
<form>
<label>Order <select id="order"><option value="given">as given</option>
<option value="alike">similar ones next to each other</option></select></label>
<span class="scale" aria-hidden="true"><span id="low"></span><i id="scale"></i><span id="top"></span></span>
<span hidden><select id="layer"></select><select id="head"></select></span>
</form>
<output id="readout">Point at a square, or move with the arrow keys.</output>
<div id="frame"><div id="room">
<canvas id="map" tabindex="0" role="img" aria-label="similarities"></canvas>
<div id="mark"></div>
</div></div>
<h2>Most similar</h2>
<ol id="pairs"></ol>
"""


def similarity_html(matrix: ArrayLike, labels: Sequence[str], *, title: str = "Similarity") -> str:
    """Return a page that shows a symmetric matrix (n, n) of similarities from -1 to 1, such as cosines, of n labels.

    Pointing at a square, or moving with the arrow keys, shows its value and its labels. Rows are in the given order, or
    in one that puts similar rows next to each other; the most similar pairs are listed. The page holds all it needs and
    loads nothing; values are kept in 16 bits. ShapeError for what does not fit, and for more
    than 2,000 labels.

    >>> page = similarity_html([[1.0, 0.8], [0.8, 1.0]], ["cat", "kitten"])
    >>> page.startswith("<!doctype html>"), "://" in page
    (True, False)
    """
    made = np.asarray(matrix, dtype=np.float64)
    n = len(labels)
    if made.shape != (n, n) or not n:
        raise ShapeError(f"the matrix has shape {made.shape}; for {n} labels it must be ({n}, {n})")
    if n > MAX_LABELS:
        raise ShapeError(f"{n:,} labels are given; a page holds {MAX_LABELS:,}: choose some")
    for i, label in enumerate(labels):
        if not isinstance(label, str):
            raise TypeError(f"labels[{i}] is {type(label).__name__}, not str; give texts")
    if not np.isfinite(made).all() or np.abs(made).max() > 1 + 1e-6:
        raise ShapeError("similarities must be finite, from -1 to 1; give cosines")
    if not np.allclose(made, made.T, atol=1e-6):
        raise ShapeError("the matrix is not symmetric: row i, column j must be row j, column i")
    made = np.clip(made, -1.0, 1.0)
    above = np.stack(np.triu_indices(n, 1))
    values = made[above[0], above[1]]
    best = np.argsort(-values, kind="stable")[:PAIRS]
    data = {
        "shape": (1, 1, n, n), "rows": list(labels), "columns": list(labels), "low": -1.0, "top": 1.0,
        "weights": in_base64(np.rint((made + 1) / 2 * 65535), "<u2"), "order": seriated(made).tolist(),
        "longest_label": LONGEST_LABEL,
        "pairs": [(int(above[0, k]), int(above[1, k]), round(float(values[k]), 4)) for k in best],
    }  # fmt: skip
    return standalone(title, BODY, ["attention.css", "attention.js", "similarity.js"], data)


def seriated(matrix: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order of rows in which similar ones are near one another.

    Rows are sorted by the eigenvector of the second smallest eigenvalue of the Laplacian of (1 + similarity) / 2:
    Atkins, Boman and Hendrickson, A Spectral Algorithm for Seriation (1998). O(n³).

    >>> seriated(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]])).tolist()
    [0, 2, 1]
    """
    if len(matrix) < 3:
        return np.arange(len(matrix))
    near = (1 + matrix) / 2
    _, vectors = np.linalg.eigh(np.diag(near.sum(1)) - near)
    order = np.argsort(vectors[:, 1], kind="stable")
    return order if order[0] < order[-1] else order[::-1]
