"""`tokkit report`: compares how a tokenizer treats languages or other sources."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from tokkit.cli import mixing, options

COLUMNS = {
    "tokens": "tokens",
    "fertility": "tokens/word",
    "bytes_per_token": "bytes/token",
    "parity": "parity",
    "renyi": "Rényi",
    "unused_rate": "never used",
    "byte_rate": "byte tokens",
    "unknown_rate": "unknown",
}
"""Columns of the table, by their names in JSON."""


@options.command(
    "report",
    short_help="Show how well a tokenizer fits each language or source.",
    examples=(
        "tokkit report o200k_base en=en.txt de=de.txt th='th/*.txt'",
        "tokkit report tok.json en=flores.en th=flores.th --per text --json",
    ),
)
@options.tokenizer
@click.argument("sources", nargs=-1, required=True, type=options.NAMED, metavar="[NAME=]FILE...")
@click.option(
    "--per",
    type=click.Choice(["character", "byte", "word", "text"]),
    default="character",
    help="For parity: compare tokens per character, byte or word; text compares sources that are translations of "
    "each other.",
)
@click.option(
    "--reference",
    metavar="NAME",
    show_default="the first",
    help="For parity: the source that the others are compared with.",
)
@options.special
@options.field
@options.input_errors
@options.threads
@options.as_json
def command(tokenizer: str, pattern: str | None, sources: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Show for each source: tokens per word, parity with a reference, and use of the vocabulary.

    All FILEs with the same NAME are one source (files, folders and globs as in tokkit train); a FILE without a name is
    a source of its own. Parity is tokens per character (see --per) relative to the reference: 2 means twice as many.
    Rényi is the Rényi efficiency: 1 if all tokens are used equally often. Byte tokens are tokens of the text that are
    not whole characters. Each file, or record, is one text, with its line ends.
    """
    from tokkit.cli import output
    from tokkit.cli.inputs import load
    from tokkit.corpus.text_counts import RULE
    from tokkit.view import source_report

    tok = load(tokenizer, pattern)
    by_name, paths = mixing.sources_of(sources)
    rows = [asdict(row) for row in source_report(tok, by_name or mixing.own_names(paths), **chosen)]
    if json:
        about = {"tokenizer": tokenizer, "vocab_size": len(tok.vocab), "per": chosen["per"]}
        output.say_json({**about, "sources": rows[:-1], "all": rows[-1]})
        return
    columns = {name: title for name, title in COLUMNS.items() if rows[-1][name] is not None or name == "parity"}
    cells = [(row["source"], *(_shown(name, row[name]) for name in columns)) for row in rows]
    output.table([("source", *columns.values()), *cells])
    found = [row["parity"] for row in rows if row["parity"]]
    if len(found) > 1:
        output.say(f"parity per {chosen['per']}: from {min(found):.2f} to {max(found):.2f}")
    output.say(RULE)


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name.endswith("_rate"):
        return f"{value:.1%}"
    return f"{value:,}" if name == "tokens" else f"{value:.3f}" if name == "renyi" else f"{value:.2f}"
