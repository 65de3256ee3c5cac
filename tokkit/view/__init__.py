"""Pictures of what a model does: weights, vectors and tokens go in, pages, PNGs and lines for a terminal come out.

Begin with attention_page.py; terminal.py colours tokens, plots.py compares tokenizers.
"""

from tokkit.view.attention_page import attention_html
from tokkit.view.attention_plots import attention_png, positions_png

__all__ = ["attention_html", "attention_png", "positions_png"]
