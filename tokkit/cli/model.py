"""The command group `tokkit model`: commands that run a model on texts."""

from __future__ import annotations

from tokkit.cli import options
from tokkit.cli.groups import InOrder, OnDemand

PLACES = {
    "embed": ("model_search", "embed"),
    "search": ("model_search", "search"),
    "similarity": ("model_similarity", "similarity"),
    "fill-mask": ("model_views", "fill_mask"),
    "attention": ("model_views", "attention"),
}
"""Subcommand → its module and name there, in the order of --help."""


@options.command(
    "model",
    cls=InOrder,
    commands=OnDemand(PLACES),
    short_help="Turn text to vectors: search by meaning, compare sentences.",
)
def command() -> None:
    """Turn text to vectors with a model's weights: search by meaning, compare sentences.

    A model is a folder with config.json, model.safetensors and a tokenizer, as sentence-transformers write it, or its
    name on the hub (org/name, with the extra hub). `tokkit wordvec` trains vectors of single words.
    """
