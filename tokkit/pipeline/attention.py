"""Attention weights of a text with its tokens, as models return them and notebooks display them."""

from __future__ import annotations

from typing import NamedTuple

from tokkit import lazy
from tokkit.nn.arrays import Floats


class Attention(NamedTuple):
    """A tuple of the tokens (T) and the attention weights between them (layers, n_heads, T, T).

    A notebook displays it as the page of `tokkit.view.attention_html`.
    """

    tokens: list[str]
    weights: Floats

    def _repr_html_(self) -> str:
        return lazy.notebook_html(self)
