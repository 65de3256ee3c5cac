"""The command group `tokkit model`: commands that run a model on texts."""

from __future__ import annotations

from tokkit.cli import options
from tokkit.cli.groups import InOrder, OnDemand

PLACES = {
    "embed": ("model_search", "embed"),
    "search": ("model_search", "search"),
    "similarity": ("model_similarity", "similarity"),
    "rerank": ("model_classifiers", "rerank"),
    "classify": ("model_classifiers", "classify"),
    "entities": ("model_classifiers", "entities"),
    "generate": ("model_generate", "generate"),
    "chat": ("model_generate", "chat"),
    "next": ("model_generate", "next_"),
    "score": ("model_generate", "score"),
    "perplexity": ("model_generate", "perplexity"),
    "train": ("model_train", "train"),
    "finetune": ("model_finetune", "finetune"),
    "merge": ("model_merge", "merge"),
    "quantize": ("model_quantize", "quantize"),
    "fill-mask": ("model_views", "fill_mask"),
    "attention": ("model_views", "attention"),
}
"""Subcommand → its module and name there, in the order of --help."""


@options.command(
    "model",
    cls=InOrder,
    commands=OnDemand(PLACES),
    short_help="Run models: search, rank and label texts, generate text.",
)
def command() -> None:
    """Run a model on text. Encoders search by meaning, compare, rank and label texts; decoders generate text.

    MODEL is a folder with config.json, safetensors and a tokenizer, as transformers and sentence-transformers write it;
    or a name on the hub (org/name, needs the extra hub); or, to generate text, a .gguf file. For vectors of single
    words see `tokkit wordvec`.
    """
