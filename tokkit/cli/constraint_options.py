"""Options that constrain generated text: a regular expression, a JSON schema, or choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tokkit.cli import options

OPTIONS = (
    click.option("--regex", metavar="PATTERN", help="The whole text must match this regular expression."),
    click.option("--schema", type=options.FILE, metavar="FILE", help="The text must be JSON that this schema allows."),
    click.option("--choice", "choices", multiple=True, metavar="TEXT",
                 help="The text must be one of these; repeat for each choice."),
)  # fmt: skip


def constrained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `OPTIONS`, which constrain the generated text."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def taken(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return options with the schema read from its file, and without those that were not given."""
    from tokkit.cli.inputs import Reading

    made = dict(chosen)
    if made["schema"] is not None:
        made["schema"] = "".join(Reading().texts(made["schema"]))
    made["choices"] = made["choices"] or None
    return made
