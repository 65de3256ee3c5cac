"""Put the help of every command on the page of the reference that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

MARK = "<!-- the help of every command -->"
WIDTH = 100


def commands(command: click.Command, context: click.Context, depth: int = 0) -> Iterator[str]:
    """Yield a heading and the help of a command, and those of the commands below it, as Markdown."""
    if depth:
        yield f"{'#' * (depth + 1)} {context.command_path}"
    yield f"```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from commands(found, of(found, name, context), depth + 1)


def of(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """Return the context in which a command prints its help as at a terminal of `WIDTH` columns."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    return click.Context(command, info_name=name, parent=parent, **settings)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with the help in the place of the mark."""
    if MARK not in markdown:
        return markdown
    from tokkit.cli import main

    return markdown.replace(MARK, "\n\n".join(commands(main, of(main, "tokkit"))))
