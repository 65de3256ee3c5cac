"""Pictures of what a model does: attention as a page or PNG, positions as a heat map, tokens, plots."""

from tokkit.view.attention_page import attention_html
from tokkit.view.attention_plots import attention_png, positions_png

__all__ = ["attention_html", "attention_png", "positions_png"]
