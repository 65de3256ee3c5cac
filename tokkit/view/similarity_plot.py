"""Draws a matrix of similarities between texts, with matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from tokkit.errors import ShapeError
from tokkit.view import plots

MAX_NAMED = 40
"""Maximum number of labels on the axes, and of texts for which cells show numbers; more would not be legible."""
MAX_NUMBERED = 12
DOTS_PER_INCH = 120


def check() -> None:
    """Raise OptionError if matplotlib is missing, before any work."""
    plots.check()


def draw(matrix: ArrayLike, texts: Sequence[str], file: BinaryIO, *, title: str = "") -> None:
    """Write a PNG of a matrix (n, n) of cosines of n texts as a heat map; ShapeError if they do not fit."""
    made = np.asarray(matrix, dtype=np.float64)
    n = len(texts)
    if made.shape != (n, n) or not n:
        raise ShapeError(f"the matrix has shape {made.shape}; for {n} texts it must be ({n}, {n})")
    check()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    side = min(14.0, 3.0 + 0.4 * n)
    figure = Figure(figsize=(side + 4, side), dpi=DOTS_PER_INCH, layout="constrained")
    axis = figure.subplots()
    # The full scale of cosines, so that two pictures can be compared.
    image = axis.imshow(made, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    if n <= MAX_NAMED:
        axis.set_xticks(range(n), [str(i + 1) for i in range(n)])
        axis.set_yticks(range(n), [f"{text}  {i + 1}".replace("$", r"\$") for i, text in enumerate(texts)])
    if n <= MAX_NUMBERED:
        for i, j in np.ndindex(n, n):
            colour = "white" if abs(made[i, j]) > 0.6 else "black"
            axis.text(j, i, f"{made[i, j]:.2f}", ha="center", va="center", fontsize="small", color=colour)
    figure.colorbar(image, ax=axis, shrink=0.8, label="cosine")
    if title:
        figure.suptitle(title.replace("$", r"\$"))
    FigureCanvasAgg(figure).print_png(file)
