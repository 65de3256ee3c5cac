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
@click.option("--plot", type=options.Writes(), metavar="PNG", help="Also draw the matrix (needs the extra plot).")
@click.option("--html", "page", type=options.Writes(), metavar="PAGE", help="Also write the matrix as a page (HTML).")
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
    if chosen["page"] is not None:
        check(chosen["page"], force=chosen["force"])
    if len(given) > similarities.MAX_TEXTS and not json and chosen["plot"] is None and chosen["page"] is None:
        raise click.UsageError(
            f"{len(given)} texts; a table has at most {similarities.MAX_TEXTS}: --html, --plot or --json show more"
        )
    matrix = similarities.matrix(
        load_vectors(chosen["model"], download=chosen["download"]), given, threads=chosen["threads"]
    )
    files = {"plot": chosen["plot"], "page": chosen["page"]}
    similarities.show(given, matrix, **files, as_json=json, width=WIDTH, force=chosen["force"])
