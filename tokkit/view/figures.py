"""Makes matplotlib's figures and saves them as PNG (extra `plot`), for pictures with tokens as labels."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from tokkit.errors import OptionError
from tokkit.escaping import visible
from tokkit.files.files import write_atomically

logger = logging.getLogger("tokkit")
DOTS_PER_INCH = 120


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Any:
    """Return a figure of this size in inches, with a canvas; OptionError if matplotlib is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise OptionError("pictures are drawn by matplotlib: pip install 'pytokkit[plot]'") from None
    # Without pyplot: no global state, no window system.
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def write_png(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write a figure as a PNG, complete or not at all, and return its path."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=DOTS_PER_INCH)
    write_atomically(path, png.getvalue())
    return Path(path)


@contextlib.contextmanager
def glyphs_told_once() -> Iterator[None]:
    """Log once how many characters the font lacks; matplotlib would warn repeatedly about each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message="Glyph ")
        yield
    lacking = {str(one.message) for one in caught if str(one.message).startswith("Glyph ")}
    for one in caught:
        if str(one.message) not in lacking:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if lacking:
        logger.warning(
            "%d characters are drawn as boxes: matplotlib's font lacks them. A page shows them; or set font.family in "
            "matplotlibrc",
            len(lacking),
        )


def shown(token: str) -> str:
    """Return a token as a label: at most 16 characters, white space visible, control characters escaped."""
    clear = visible(token.replace("\n", "↵").replace("\t", "⇥").replace(" ", "␣"))
    return literal(clear if len(clear) <= 16 else clear[:15] + "…")


def literal(text: str) -> str:
    """Return a text with "$" escaped, which would start a formula in matplotlib."""
    return text.replace("$", r"\$")
