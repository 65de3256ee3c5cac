"""Several tokenizers and one text in, who needs fewer tokens and where they differ out: `tokkit compare`."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


class TwoLists(click.Command):
    """TOKENIZERS, then `--` and FILES: what stands behind the dashes is as if given with --file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite `-- FILE…`."""
        if "--" in args:
            at = args.index("--")
            args = [*args[:at], *(f"--file={name}" for name in args[at + 1 :])]
        return super().parse_args(ctx, args)


@options.command("compare", cls=TwoLists, short_help="Compare tokenizers over the same files.")
@click.argument("tokenizers", nargs=-1, required=True, type=click.Path(), metavar="TOKENIZER... [-- FILE...]")
@click.option("--file", "file", multiple=True, type=options.FILE, help="A file to compare over; repeat for more.")
@options.pattern_of_file
@options.special
@options.field
@options.input_errors
@options.as_json
def command(tokenizers: tuple[str, ...], file: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Compare tokenizers: tokens, bytes per token, compression beside the first, tokens per word.

    Files stand behind -- or in --file; without any, the bundled corpus is used. Words are what white space parts.
    For each tokenizer the first place is shown where it cuts the text otherwise than the first one does.
    """
    from tokkit.cli import comparison
    from tokkit.cli.inputs import Reading, load, shown
    from tokkit.cli.output import say_json
    from tokkit.errors import TokkitError

    toks = {}
    for path in dict.fromkeys(tokenizers):
        suits = chosen["pattern"] if path.endswith((".tiktoken", ".gguf")) else None
        try:
            toks[shown(path)] = load(path, suits)
        except TokkitError as error:
            if file or path.endswith((".json", ".tiktoken", ".gguf")):
                raise
            raise type(error)(f"{error} (files to compare over stand behind --)") from None
    reading = Reading("file", chosen["field"], chosen["input_errors"])
    found = comparison.compare(toks, comparison.texts_of(file, reading), chosen["special"])
    if json:
        say_json(found)
    else:
        comparison.show(found)
