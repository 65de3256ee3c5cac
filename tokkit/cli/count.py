"""`tokkit count`: the number of tokens of a text."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options

PRICES = """\b
A price table is a TOML file that you write, with prices per million tokens:

\b
    currency = "USD"
    [gpt-4o]
    input = 2.50
    output = 10.00
    window = 128000    # optional: input and output together"""


@options.command(
    "count",
    short_help="Count tokens, as wc counts words.",
    epilog=PRICES,
    examples=(
        "tokkit count o200k_base notes.txt",
        "git diff | tokkit count cl100k_base",
    ),
)
@options.tokenizer
@options.files
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Exit with 1 if a file has more than N tokens.")
@click.option("-l", "--lines", is_flag=True, help="Count lines too.")
@click.option("-w", "--words", is_flag=True, help="Count words, separated by white space, too.")
@click.option("-c", "--bytes", is_flag=True, help="Count bytes of UTF-8 too.")
@click.option("--prices", type=options.FILE, metavar="TOML", help="Show the cost of the tokens, from this price table.")
@click.option("--price", metavar="NAME", show_default="TOKENIZER", help="The entry of the price table.")
@click.option(
    "--output-tokens",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Expected output tokens, added to the cost.",
)
@options.special
@options.field
@options.input_errors
@options.threads
@options.as_json
def command(tokenizer: str, files: tuple[str, ...], limit: int | None, json: bool, **chosen: Any) -> int:
    """Count the tokens of each file, or of stdin, and their total.

    Each file, or record of a .jsonl file, is one text, with its line ends: so do train, report, compare, encode, view
    and bench.
    """
    from tokkit.cli import counting
    from tokkit.cli.inputs import Reading, expand, load
    from tokkit.cli.output import say_json

    priced = counting.price_of(chosen["prices"], chosen["price"], tokenizer)
    tok = load(tokenizer, chosen["pattern"])
    columns = tuple(name for name in counting.COLUMNS if chosen[name])
    reading = Reading("file", chosen["field"], chosen["input_errors"])
    count = counting.Counting(tok, reading, chosen["special"], chosen["threads"], columns)
    entries = [count.of(path) for path in expand(files)]
    sums, n_output = counting.total(entries), chosen["output_tokens"]
    cost = counting.bill(priced, sums["tokens"], n_output) if priced else None
    over = counting.over(entries, limit, "")
    if priced and priced[1].window is not None:
        room = max(priced[1].window - n_output, 0)
        over += counting.over(entries, room, f", which is the room in the window of {priced[2]}")
    if json:
        more: dict[str, Any] = ({"limit": limit} if limit is not None else {}) | ({"cost": cost} if cost else {})
        more |= {"over": over} if limit is not None or (priced and priced[1].window is not None) else {}
        say_json({"files": entries, "total": sums["tokens"], **({"totals": sums} if columns else {}), **more})
    else:
        counting.show(entries, names=bool(files))
        if cost and priced:
            counting.show_bill(cost, priced[1])
    click.get_current_context().exit(1 if over else 0)
