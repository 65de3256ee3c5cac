"""The command group `tokkit wordvec`: commands that train and look up vectors of words."""

from __future__ import annotations

from tokkit.cli import options
from tokkit.cli.groups import InOrder, OnDemand

PLACES: dict[str, tuple[str, str]] = {
    "train": ("wordvec_train", "command"),
    "query": ("wordvec_query", "query"),
    "analogy": ("wordvec_query", "analogy"),
    "similarity": ("wordvec_query", "similarity"),
    "oov": ("wordvec_oov", "command"),
    "eval": ("wordvec_files", "evaluate"),
    "classify": ("wordvec_classify", "command"),
    "distill": ("wordvec_distill", "distill"),
    "convert": ("wordvec_files", "convert"),
    "plot": ("wordvec_plot", "plot"),
}
"""Subcommand → its module and name there, in the order of --help."""


@options.command(
    "wordvec",
    cls=InOrder,
    commands=OnDemand(PLACES),
    short_help="Train word vectors, and look up neighbours and analogies.",
)
def command() -> None:
    """Train word vectors (word2vec, GloVe, fastText), and look up neighbours and analogies.

    These vectors are static: a word has one vector, independent of its context. For vectors of whole texts see `tokkit
    model embed`.
    """
