"""Draws attention weights or position vectors as a PNG, with matplotlib (extra `plot`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from tokkit.errors import ShapeError
from tokkit.view.attention_page import planes
from tokkit.view.figures import literal, new_figure, shown, write_png

MAX_NAMED = 40
"""Maximum number of token labels on an axis; more would not be legible."""


def attention_png(
    weights: ArrayLike,
    tokens: Sequence[str],
    path: str | os.PathLike[str],
    *,
    key_tokens: Sequence[str] | None = None,
    title: str | None = None,
) -> Path:
    """Draw weights (layers, heads, T, S), a row of maps for each layer, and return the path of the PNG.

    The axes for layers, or for layers and heads, may be missing. Rows are query tokens, columns key tokens; all maps
    have the same scale.
    """
    made = planes(weights, tokens, key_tokens)
    layers, heads, n_rows, n_columns = made.shape
    if layers * heads > 400:
        raise ShapeError(f"weights have shape {made.shape}, {layers * heads} maps; choose at most 400 for a picture")
    named = max(n_rows, n_columns) <= MAX_NAMED and layers * heads <= 16
    side = max(2.2, 0.28 * max(n_rows, n_columns)) if named else 1.6
    figure = new_figure(side * heads + 1.2, side * layers + 0.6)
    names = [shown(t) for t in tokens], [shown(t) for t in (tokens if key_tokens is None else key_tokens)]
    axes = figure.subplots(layers, heads, squeeze=False)
    image = None
    for i, j in np.ndindex(layers, heads):
        axis = axes[i, j]
        image = axis.imshow(made[i, j], cmap="Blues", vmin=0, vmax=float(made.max()) or 1, interpolation="nearest")
        axis.set_title(f"layer {i + 1}, head {j + 1}", fontsize=8)
        if named:
            axis.set_xticks(range(n_columns), names[1], rotation=90, fontsize=7)
            axis.set_yticks(range(n_rows), names[0], fontsize=7)
        else:
            axis.set_xticks([])
            axis.set_yticks([])
    figure.colorbar(image, ax=axes, shrink=0.7, label="weight")
    if title:
        figure.suptitle(literal(title))
    return write_png(figure, path)


def positions_png(encodings: ArrayLike, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Draw position vectors (T, D) as a heat map, a row for each position; return the path of the PNG."""
    made = np.asarray(encodings, dtype=np.float64)
    if made.ndim != 2 or not made.size:
        raise ShapeError(f"encodings have shape {made.shape}; they must be (positions, dimensions)")
    figure = new_figure(9, 5)
    axis = figure.subplots()
    limit = float(np.abs(made).max()) or 1.0
    image = axis.imshow(made, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    axis.set_xlabel("dimension")
    axis.set_ylabel("position")
    axis.set_title(literal(title) if title else f"{made.shape[0]} positions in {made.shape[1]} dimensions")
    figure.colorbar(image, ax=axis)
    return write_png(figure, path)
