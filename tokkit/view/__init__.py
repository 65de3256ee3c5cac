"""Visualisation: shows tokens, weights and vectors as standalone pages, PNGs and lines for a terminal.

Begin with tokens_page.py, attention_page.py and vectors_page.py; terminal.py colours tokens at a terminal, plots.py
compares tokenizers.
"""

from tokkit.view.attention_page import attention_html
from tokkit.view.attention_plots import attention_png, positions_png
from tokkit.view.comparison import Comparison, compare
from tokkit.view.predictions_page import predictions_html
from tokkit.view.projection import project
from tokkit.view.reasons import why
from tokkit.view.similarity_page import similarity_html
from tokkit.view.sizes_page import sizes_html
from tokkit.view.source_report import SourceMeasures, source_report
from tokkit.view.tokens_page import html
from tokkit.view.training_page import training_html
from tokkit.view.vectors_page import vectors_html
from tokkit.view.vectors_plot import vectors_png
from tokkit.view.vocabulary_report import report_html

__all__ = [
    "Comparison",
    "SourceMeasures",
    "attention_html",
    "attention_png",
    "compare",
    "html",
    "positions_png",
    "predictions_html",
    "project",
    "report_html",
    "similarity_html",
    "sizes_html",
    "source_report",
    "training_html",
    "vectors_html",
    "vectors_png",
    "why",
]
