"""The `tokkit` command and its subcommands.

Exit codes: 0 success, 1 failure or "no", 2 wrong usage, 130 Ctrl-C, 141 the reader of the output has closed it.
Commands are imported when they are called, and numpy when one needs it.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

from tokkit import interrupts
from tokkit.cli import errors, options
from tokkit.cli.groups import InOrder, OnDemand

COMMANDS = (
    "train", "encode", "encode-shards", "decode", "count", "truncate", "chunk", "convert", "view", "play", "inspect",
    "compare", "report", "bench", "counts", "model", "wordvec", "serve", "fetch", "info", "completion",
)  # fmt: skip


class CommandLine(InOrder):
    """The whole command line; expected errors become one line on stderr and an exit code."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as a process of its own."""
        if hasattr(signal, "SIGTERM"):
            # So that temporary files are removed.
            signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        with errors.exits():
            return self.main(*args, **{"prog_name": "tokkit", **kwargs})

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments before the subcommand."""
        with errors.reported():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        with errors.reported(), interrupts.Raised(), errors.warnings_shown():
            return super().invoke(ctx)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from tokkit.version import __version__

        click.echo(f"tokkit {__version__}")
        ctx.exit()


@click.group(
    cls=CommandLine,
    commands=OnDemand({name: (name.replace("-", "_"), "command") for name in COMMANDS}),
    context_settings={"auto_envvar_prefix": "TOKKIT", **options.SETTINGS},
    epilog=options.WHERE_SETTINGS_COME_FROM,
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
@options.config
def main() -> None:
    """Train, inspect and compare tokenizers; encode, decode and count with them, exactly and fast.

    To try it without any data, run: tokkit train
    """
