"""Command groups whose subcommands are imported when they are called."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

import click


class OnDemand(Mapping[str, click.Command]):
    """The subcommands of a group, in the order of --help.

    `places` maps each command to its module in tokkit.cli and its name there.
    """

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> click.Command:
        module, attribute = self._places[name]
        found: click.Command = getattr(importlib.import_module(f"tokkit.cli.{module}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class InOrder(click.Group):
    """A group that lists its commands in the order given, not by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands."""
        return list(self.commands)
