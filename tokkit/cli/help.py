"""Formats --help: options in groups, the most used first, and examples at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

COMMON: dict[str, Sequence[str]] = {
    "Input": ("unit", "field", "input_errors", "counts", "special", "pattern"),
    "Output": ("format", "lossy", "json", "force"),
    "Running": ("threads", "progress", "config", "help"),
}
"""Groups of options that many commands share: title → names of parameters."""
FEW = 9
"""Commands with at most this many options show them in one list."""


class Command(click.Command):
    """A command whose --help has options in groups, and examples at the end.

    `groups` (title → names of parameters) come before the common ones; "Options" comes first and has all others.
    """

    def __init__(
        self, *args: Any, groups: Mapping[str, Sequence[str]] | None = None, examples: Sequence[str] = (), **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.groups, self.examples = groups or {}, examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        shown = {
            "help" if "--help" in param.opts else param.name: record
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None
        }
        titles = {**self.groups, **COMMON} if len(shown) > FEW or self.groups else {"": ("pattern", "config", "help")}
        in_groups = {title: [shown.pop(name) for name in names if name in shown] for title, names in titles.items()}
        if last := in_groups.pop("", None):
            shown |= {str(number): record for number, record in enumerate(last)}
        for title, rows in {"Options": list(shown.values()), **in_groups}.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the epilog."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")
        super().format_epilog(ctx, formatter)
