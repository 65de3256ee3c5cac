"""`tokkit model embed` and `tokkit model search`: index the passages of files, and search the index."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options

THE_MODEL = (
    "A model that makes vectors: the folder, or the name on the hub, of an encoder or of static vectors "
    "(tokkit wordvec distill)."
)
download = click.option(
    "--download", is_flag=True, help="Download a model from the hub if needed (needs the extra hub)."
)
WHAT_IS_READ = """\b
All files of a folder are read, except hidden ones: .jsonl record by record (--field), .gz, .bz2 and .xz decompressed.
Files that are binary, not UTF-8 or unreadable are skipped and listed on stderr, and the exit code is 1."""


@options.command(
    "embed",
    group="model",
    short_help="Index files, to search them by meaning.",
    epilog=WHAT_IS_READ,
    examples=("tokkit model embed notes/ -o notes.index --model all-MiniLM-L6-v2",),
)
@click.argument("paths", nargs=-1, required=True, type=options.FILE, metavar="PATH...")
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="INDEX", help="The folder of the index.")
@click.option(
    "--model",
    type=options.MODEL,
    metavar="FOLDER|NAME",
    show_default="with --append, that of the index",
    help=THE_MODEL,
)
@download
@click.option("--append", is_flag=True, help="Add files to an existing index; files that have changed are read again.")
@click.option(
    "--tokens", type=int, metavar="N", show_default="the model's maximum", help="Maximum tokens of a passage."
)
@click.option(
    "--overlap",
    type=click.IntRange(min=0),
    metavar="N",
    show_default="an eighth of --tokens",
    help="Maximum tokens at the end of a passage that the next one repeats.",
)
@click.option(
    "--ann",
    is_flag=True,
    help="Also build a graph for search --ann, useful for millions of passages (needs the extra ann).",
)
@options.field
@options.input_errors
@options.threads
@options.force
@options.progress
def embed(paths: tuple[str, ...], output: str, **chosen: Any) -> None:
    """Cut the texts of files and folders into passages and write a vector for each passage to an index.

    Start with: tokkit model embed notes/ -o index --model all-MiniLM-L6-v2/, then: tokkit model search index "what was
    it about"
    """
    from tokkit.cli.embedding import run
    from tokkit.progress import Progress

    with Progress(chosen["progress"]) as progress:
        clean = run(paths, output, chosen, progress)
    if not clean:
        raise click.exceptions.Exit(1)


@options.command(
    "search",
    group="model",
    short_help="Find the passages nearest in meaning to a query.",
    examples=(
        "tokkit model search notes.index 'where do penguins live'",
        "tokkit model search notes.index 'where do penguins live' --rerank ./ms-marco-MiniLM-L6-v2",
    ),
)
@click.argument("index", type=options.Reads())
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-k", "--top", "k", type=click.IntRange(min=1), default=5, metavar="N", help="Number of passages to show."
)
@click.option("--model", type=options.MODEL, metavar="FOLDER|NAME", show_default="that of the index", help=THE_MODEL)
@download
@click.option("--full", is_flag=True, help="Show whole passages instead of snippets.")
@click.option(
    "--ann", is_flag=True, help="Approximate search with the graph of embed --ann: faster, but may miss passages."
)
@click.option(
    "--rerank",
    type=options.MODEL,
    metavar="FOLDER|NAME",
    help="Sort the passages that were found with this cross-encoder, which reads the query together with each passage.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="50, or --top if that is more",
    help="Number of passages that --rerank sorts.",
)
@options.threads
@options.as_json
def search(index: str, query: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Show the passages of INDEX nearest to QUERY: score (cosine, or the score of --rerank), file:line and a snippet.

    Several words are one query; with "-", each line of stdin is a query. The exit code is 1 if the index is empty.
    """
    from tokkit.cli.embedding import answers, show_hits
    from tokkit.cli.errors import note
    from tokkit.escaping import show

    found, text = False, None
    for text, hits in answers(index, " ".join(query), chosen):
        show_hits(text, hits, as_json=json, whole=chosen["full"], headed=query == ("-",))
        found = found or bool(hits)
    if not found:
        note("stdin holds no query" if text is None else f"{show(index)} holds no passages")
        raise click.exceptions.Exit(1)
