"""`tokkit model similarity`: how similar texts are in meaning, as a table, JSON or a picture."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options
from tokkit.cli.model_search import THE_MODEL, download

WIDTH = 48


@options.command(
    "similarity",
    group="model",
    short_help="Compare texts with one another by meaning.",
    examples=("tokkit model similarity 'a cat' 'a kitten' 'a car' --model all-MiniLM-L6-v2",),
)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--model", type=options.MODEL, required=True, metavar="FOLDER|NAME", help=THE_MODEL)
@download
@click.option("--file", "file", type=options.FILE, help="Take the lines of this file as texts too; - is stdin.")
@click.option("--plot", type=options.Writes(), metavar="PNG", help="Also draw the matrix (extra plot).")
@options.threads
@options.force
@options.as_json
def similarity(texts: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Show the cosine of each pair of TEXTs: 1 for the same meaning, about 0 for unrelated ones."""
    from tokkit.cli import similarities
    from tokkit.cli.models import load_vectors
    from tokkit.cli.output import check

    given = similarities.texts(texts, chosen["file"])
    if chosen["plot"] is not None:
        from tokkit.view import similarity_plot

        check(chosen["plot"], force=chosen["force"])
        similarity_plot.check()
    elif len(given) > similarities.MAX_TEXTS and not json:
        raise click.UsageError(
            f"{len(given)} texts; a table has at most {similarities.MAX_TEXTS}: --plot or --json show more"
        )
    matrix = similarities.matrix(
        load_vectors(chosen["model"], download=chosen["download"]), given, threads=chosen["threads"]
    )
    similarities.show(given, matrix, chosen["plot"], as_json=json, width=WIDTH, force=chosen["force"])
