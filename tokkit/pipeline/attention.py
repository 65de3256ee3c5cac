"""Attention weights of a text with its tokens, as models return them and notebooks show them."""

from __future__ import annotations

from typing import NamedTuple

from tokkit import lazy
from tokkit.nn.arrays import Floats


class Attention(NamedTuple):
    """Tokens (T) and the weights (layers, n_heads, T, T) with which they look at one another, a tuple of both.

    A notebook shows the page of `tokkit.view.attention_html`.
    """

    tokens: list[str]
    weights: Floats

    def _repr_html_(self) -> str:
        return lazy.notebook_html(self)
