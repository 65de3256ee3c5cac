"""The command group `tokkit model`: commands that run a model on texts."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

import click

from tokkit.cli import options

PLACES = {
    "embed": ("model_search", "embed"),
    "search": ("model_search", "search"),
    "similarity": ("model_similarity", "similarity"),
    "fill-mask": ("model_views", "fill_mask"),
    "attention": ("model_views", "attention"),
}
"""Subcommand → its module and name there, in the order of --help."""


class OnDemand(Mapping[str, click.Command]):
    """The subcommands, imported when they are called."""

    def __getitem__(self, name: str) -> click.Command:
        module, attribute = PLACES[name]
        found: click.Command = getattr(importlib.import_module(f"tokkit.cli.{module}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


class InOrder(click.Group):
    """A group that lists its commands in the order above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands."""
        return list(self.commands)


@options.command(
    "model", cls=InOrder, commands=OnDemand(), short_help="Turn text to vectors: search by meaning, compare sentences."
)
def command() -> None:
    """Turn text to vectors with a model's weights: search by meaning, compare sentences.

    A model is a folder with config.json, model.safetensors and a tokenizer, as sentence-transformers write it, or its
    name on the hub (org/name, with the extra hub).
    """
