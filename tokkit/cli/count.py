"""Text in, the number of tokens out: `tokkit count`."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


@options.command("count", short_help="Count tokens, as wc counts words.")
@options.tokenizer
@options.files
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Exit with 1 if a file has more tokens than N.")
@options.special
@options.field
@options.input_errors
@options.as_json
def command(tokenizer: str, files: tuple[str, ...], limit: int | None, json: bool, **chosen: Any) -> int:
    """Count the tokens of each file, or of stdin, and of all together."""
    from tokkit.cli.ending import note
    from tokkit.cli.inputs import Reading, expand, load, shown
    from tokkit.cli.output import counted, say, say_json

    tok = load(tokenizer, chosen["pattern"])
    reading = Reading("file", chosen["field"], chosen["input_errors"])
    counts = []
    for path in expand(files):
        counts.append((shown(path), sum(tok.count(text, special=chosen["special"]) for text in reading.texts(path))))
    total = sum(n for _, n in counts)
    over = [name for name, n in counts if limit is not None and n > limit]
    if json:
        found = [{"file": name, "tokens": n} for name, n in counts]
        say_json({"files": found, "total": total} | ({"limit": limit, "over": over} if limit is not None else {}))
    else:
        rows = [(n, "" if not files else name) for name, n in counts]
        rows += [(total, "total")] if len(counts) > 1 else []
        width = len(str(total)) if len(rows) > 1 else 0
        for n, name in rows:
            say(f"{n:>{width}}  {name}".rstrip())
    for name in over:
        note(f"{name} has more than {counted(limit or 0, 'token')}")
    click.get_current_context().exit(1 if over else 0)
