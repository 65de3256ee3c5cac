"""Draws word vectors as points with labels in a PNG, with matplotlib (extra `plot`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.view.figures import DOTS_PER_INCH, glyphs_told_once, literal, new_figure, shown, write_png
from tokkit.view.projection import Method, drawn

INCHES = (12.0, 9.0)
MARGIN = 48
"""Pixels around the points, for labels of those at the edge."""
MAX_LABELLED = 1000
"""Number of first words that may get a label; hardly a hundred more would find room."""
FONT = 8.5
GAPS = (5, 14, 28)
"""Pixels between a point and its label: the first free distance is used; lines lead to labels that are not close."""
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
"""Positions of a label relative to its point: right, left, above, below, and the diagonals."""
Box = tuple[float, float, float, float]


def vectors_png(
    keys: Sequence[str],
    vectors: ArrayLike,
    path: str | os.PathLike[str],
    *,
    words: Sequence[str] | None = None,
    method: Method = "pca",
    seed: int = 0,
    title: str | None = None,
) -> Path:
    """Draw the vectors (n, d) of n keys as points in a plane, projected by `project`; return the path of the PNG.

    `words` are the keys to draw (None: all), at most 20,000. Labels do not overlap: earlier words get theirs first, and
    words without room get none. Errors are as in `vectors_html`; OptionError if matplotlib, or scikit-learn for "tsne",
    is missing.
    """
    figure = new_figure(*INCHES, layout=None)
    made = drawn(keys, np.asarray(vectors), words, method, seed)
    axis = figure.add_axes((0.01, 0.01, 0.98, 0.93))
    room = np.array([0.98, 0.93]) * INCHES * DOTS_PER_INCH
    places = _placed(made.points, room)
    # In pixels, so that labels and points have the same unit.
    axis.set(xlim=(0, room[0]), ylim=(0, room[1]))
    axis.set_axis_off()
    axis.scatter(*places.T, s=14 if len(places) <= MAX_LABELLED else 5, color="#2f6fb5", linewidths=0)
    with glyphs_told_once():
        for i, (left, low, right, top), gap in labels(figure, made.words, places, room):
            axis.text(left, low, shown(made.words[i]), fontsize=FONT, verticalalignment="bottom")
            if gap > GAPS[0]:
                x, y = places[i]
                axis.plot([x, min(max(x, left), right)], [y, min(max(y, low), top)], color="#98a2b3", linewidth=0.6)
        axis.set_title(literal(title) if title else made.about, fontsize=10)
        return write_png(figure, path)


def _placed(points: NDArray[np.float64], room: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points in pixels: centred, and scaled equally in both directions."""
    low, high = points.min(axis=0), points.max(axis=0)
    with np.errstate(divide="ignore"):
        scale = float(np.min((room - 2 * MARGIN) / (high - low)))
    return np.asarray(room / 2 + (points - (low + high) / 2) * (scale if np.isfinite(scale) else 1.0))


def labels(
    figure: Any, words: Sequence[str], places: NDArray[np.float64], room: NDArray[np.float64]
) -> Iterator[tuple[int, Box, int]]:
    """Yield the words whose labels fit: (number, box of the label in pixels, distance from the point)."""
    from matplotlib.font_manager import FontProperties

    renderer, font = figure.canvas.get_renderer(), FontProperties(size=FONT)
    height = renderer.get_text_width_height_descent("Ag", font, ismath=False)[1] + 3
    gaps = np.repeat(GAPS, len(SIDES))
    sides = np.tile(SIDES, (len(GAPS), 1))
    taken = np.empty((0, 4))
    for i, word in enumerate(words[:MAX_LABELLED]):
        width = renderer.get_text_width_height_descent(shown(word), font, ismath=False)[0] + 2
        size = np.array([width, height])
        # Offset from the point: the gap, and half of the label's size in each direction.
        low = places[i] + sides * (gaps[:, None] + size / 2) - size / 2
        boxes = np.hstack([low, low + size])
        free = (low >= 0).all(axis=1) & (low + size <= room).all(axis=1) & ~_overlaps(boxes, taken).any(axis=1)
        if free.any():
            # The free position that covers the fewest points; ties go to the first.
            points = np.hstack([places - 2, places + 2])
            covered = np.where(free, _overlaps(boxes, points).sum(axis=1), len(places) + 1)
            best = int(covered.argmin())
            taken = np.vstack([taken, boxes[best]])
            yield i, tuple(boxes[best].tolist()), int(gaps[best])


def _overlaps(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether boxes (n, 4) and others (m, 4) overlap: (n, m)."""
    apart = (boxes[:, None, 2:] <= others[:, :2]) | (others[:, 2:] <= boxes[:, None, :2])
    return np.asarray(~apart.any(axis=2))
