"""Plots measures of models and vocabulary sizes, and figures of a benchmark, with matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from tokkit.errors import OptionError

PANELS = (
    ("bytes_per_token", "bytes per token", 1.0),
    ("tokens_per_word", "tokens per word", 1.0),
    ("oov_rate", "words with an unknown part, %", 100.0),
    ("unused_rate", "tokens never used, %", 100.0),
)
"""(name of a measure, its label, its factor)."""
INCHES = (10.0, 7.0)
BAR_INCHES = 0.32
"""Height of a bar in the panels of a benchmark."""
DOTS_PER_INCH = 120


def check() -> None:
    """Raise OptionError if matplotlib is missing, before any work."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise OptionError("plots need matplotlib: pip install 'pytokkit[plot]'") from None


def sizes(rows: Iterable[Mapping[str, Any]], file: BinaryIO, *, title: str = "") -> None:
    """Write a PNG of four panels, the measures of `PANELS` over vocabulary size, a line for each model.

    A row has "model", "vocab_size" and the measures; a measure of None is left out.
    """
    check()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    models: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        models.setdefault(str(row["model"]), []).append(row)
    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.subplots(2, 2).flat
    for axis, (name, label, factor) in zip(axes, PANELS, strict=True):
        for model, of_model in models.items():
            x, y = _points(of_model, name, factor)
            axis.plot(x, y, marker="o", markersize=4, label=model)
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("vocabulary size")
        axis.set_ylabel(label)
        axis.grid(visible=True, alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=max(1, len(models)))
    if title:
        figure.suptitle(title.replace("$", r"\$"), fontsize="medium")
    FigureCanvasAgg(figure).print_png(file)


def bars(panels: Sequence[tuple[str, Mapping[str, float]]], file: BinaryIO, *, title: str = "") -> None:
    """Write a PNG of panels one below the other: a label, and a bar for each name."""
    check()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heights = [max(len(figures), 1) + 1 for _, figures in panels]
    size = (INCHES[0], 0.6 + BAR_INCHES * sum(heights))
    figure = Figure(figsize=size, dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axis, (label, figures) in zip(axes, panels, strict=True):
        drawn = axis.barh(list(figures), list(figures.values()), height=0.7)
        axis.bar_label(drawn, fmt="%.3g", padding=3)
        axis.invert_yaxis()
        axis.set_xlim(0, 1.15 * max(figures.values(), default=1.0) or 1.0)
        axis.set_title(label, fontsize="medium", loc="left")
    if title:
        figure.suptitle(title.replace("$", r"\$"), fontsize="medium")
    FigureCanvasAgg(figure).print_png(file)


def _points(rows: Sequence[Mapping[str, Any]], name: str, factor: float) -> tuple[list[int], list[float]]:
    there = [row for row in sorted(rows, key=lambda row: int(row["vocab_size"])) if row[name] is not None]
    return [int(row["vocab_size"]) for row in there], [float(row[name]) * factor for row in there]
