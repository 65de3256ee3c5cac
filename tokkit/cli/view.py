"""`tokkit view`: shows the tokens of a text."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


@options.command(
    "view",
    short_help="Show the tokens of a text, in colours.",
    examples=("echo 'Hello, world!' | tokkit view cl100k_base",),
)
@options.tokenizer
@options.files
@click.option("--ids", is_flag=True, help="Show its id after each token.")
@click.option(
    "--colour",
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colours: auto is at a terminal, unless NO_COLOR is set; without colours, tokens are separated by bars.",
)
@options.special
@options.field
@options.input_errors
def command(tokenizer: str, files: tuple[str, ...], ids: bool, colour: str, **chosen: Any) -> None:
    """Show the tokens of each text and their number; a character split between tokens is shown as bytes."""
    from tokkit.cli.inputs import Reading, expand, load
    from tokkit.cli.output import counted, put, say
    from tokkit.cli.token_lines import in_colours, shown_tokens

    tok = load(tokenizer, chosen["pattern"])
    coloured, n_tokens, n_bytes = in_colours(colour), 0, 0
    for path in expand(files):
        for text in Reading("file", chosen["field"], chosen["input_errors"]).texts(path):
            lines, n = shown_tokens(tok, text, special=chosen["special"], with_ids=ids, coloured=coloured)
            for line in lines:
                put(line)
            n_tokens, n_bytes = n_tokens + n, n_bytes + len(text.encode())
    rate = f", {n_bytes / n_tokens:.2f} bytes per token" if n_tokens else ""
    say(f"{counted(n_tokens, 'token')}, {counted(n_bytes, 'byte')}{rate}")
