"""`tokkit truncate`: the longest beginning, or end, of a text that has at most n tokens."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


@options.command(
    "truncate",
    short_help="Cut a text to a number of tokens.",
    examples=("tokkit truncate o200k_base prompt.txt --limit 4000",),
)
@options.tokenizer
@click.argument("file", default="-", type=options.FILE, metavar="[FILE]")
@click.option("--limit", type=click.IntRange(min=0), required=True, metavar="N", help="Maximum number of tokens.")
@click.option("-o", "--output", default="-", type=options.OUTPUT, metavar="FILE", help="Where to write; - is stdout.")
@click.option("--side", type=click.Choice(["right", "left"]), default="right", help="The side that is cut off.")
@options.special
@options.input_errors
@options.force
def command(tokenizer: str, file: str, limit: int, output: str, force: bool, **chosen: Any) -> None:
    """Write the longest beginning of FILE, or of stdin, that has at most N tokens; with --side left, the longest end.

    Characters are never cut, and a text that fits is written unchanged. The number of tokens is printed to stderr.
    """
    from tokkit.cli.errors import note
    from tokkit.cli.inputs import Reading, load
    from tokkit.cli.output import check, counted, writing
    from tokkit.corpus import paths
    from tokkit.escaping import show

    if paths.holds_records(file):
        raise click.UsageError(f"{show(file)} holds many texts; truncate cuts one: give it as a plain text file")
    check(output, force=force)
    tok = load(tokenizer, chosen["pattern"])
    (text,) = Reading("file", input_errors=chosen["input_errors"]).texts(file)
    kept, n_tokens = tok.truncate(text, limit, special=chosen["special"], side=chosen["side"])
    with writing(output, force=force) as out:
        out.write(kept.encode())
    size, whole = len(kept.encode()), len(text.encode())
    part = "all of it" if kept == text else f"{size:,} of {counted(whole, 'byte')}"
    note(f"kept {counted(n_tokens, 'token')}: {part}")
