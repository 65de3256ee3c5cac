"""`tokkit chunk`: cuts texts into chunks of at most n tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.chunks import Chunk
    from tokkit.tokenizer import Tokenizer

AT = ("word", "sentence", "paragraph", "markdown", "code")


@options.command(
    "chunk",
    short_help="Cut texts into chunks of at most so many tokens.",
    examples=(
        "tokkit chunk cl100k_base README.md --tokens 512 --overlap 64 --at markdown",
        "cat notes.txt | tokkit chunk o200k_base | head -1",
    ),
    groups={"Chunks": ("tokens", "overlap", "at")},
)
@options.tokenizer
@options.files
@click.option("--tokens", type=int, default=512, metavar="N", help="Maximum tokens of a chunk, on its own; at least 8.")
@click.option(
    "--overlap",
    type=int,
    default=0,
    metavar="N",
    help="Maximum tokens at the end of a chunk that the next chunk repeats, up to half of --tokens.",
)
@click.option(
    "--at",
    type=click.Choice(AT),
    default="paragraph",
    help="Where chunks should end, if the last part of a chunk has such a place. markdown: before headings and "
    "around code blocks; code: before the least indented lines.",
)
@click.option("-o", "--output", default="-", type=options.OUTPUT, metavar="FILE", help="Where to write; - is stdout.")
@options.field
@options.input_errors
@options.force
def command(tokenizer: str, files: tuple[str, ...], output: str, force: bool, **chosen: Any) -> None:
    """Cut each file, or stdin, into chunks; print each as a JSON object a line: text, start, end, tokens, file.

    start and end are in characters. A .jsonl file is cut record by record, and its chunks also have the record number.
    """
    from tokkit.chunks import chunking
    from tokkit.cli.inputs import expand, load
    from tokkit.cli.output import as_json, check, writing

    chunking.check(chosen["tokens"], chosen["overlap"])
    check(output, force=force)
    tok = load(tokenizer, chosen["pattern"])
    with writing(output, force=force) as out:
        for path in expand(files):
            for (text, start, end, n_tokens), more in _chunks(path, tok, chosen):
                found = {"text": text, "start": start, "end": end, "tokens": n_tokens, "file": path, **more}
                out.write(as_json(found).encode() + b"\n")


def _chunks(path: str, tok: Tokenizer, chosen: dict[str, Any]) -> Iterator[tuple[Chunk, dict[str, int]]]:
    """Yield each chunk of a file, and the other fields of its JSON object."""
    from tokkit.chunks import chunk, chunk_file
    from tokkit.corpus import paths, readers

    sizes = {name: chosen[name] for name in ("tokens", "overlap", "at")}
    if not paths.holds_records(path):
        yield from ((found, {}) for found in chunk_file(path, tok, input_errors=chosen["input_errors"], **sizes))
        return
    texts = readers.documents(path, field=chosen["field"], errors=chosen["input_errors"])
    for number, text in enumerate(texts, 1):
        yield from ((found, {"record": number}) for found in chunk(text, tok, **sizes))
