"""Counts tokens of files, with costs and limits, as plain data and as lines."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli.errors import note
from tokkit.cli.inputs import STDIN, Reading
from tokkit.cli.output import counted, say
from tokkit.corpus.text_counts import count_file
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.cli.costs import Price, Prices
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

COLUMNS = ("lines", "words", "bytes")


@dataclass(frozen=True, slots=True)
class Counting:
    """How files are counted: the options of the same names."""

    tok: Tokenizer
    reading: Reading
    special: Special
    threads: int | None
    columns: tuple[str, ...]

    def of(self, path: str) -> dict[str, Any]:
        """Return the counts of a file."""
        found = count_file(
            self.tok,
            path,
            special=self.special,
            field=self.reading.field,
            input_errors=self.reading.input_errors,
            threads=self.threads,
            tokens_only=not self.columns,
        )
        return {"file": path} | {name: getattr(found, name) for name in (*self.columns, "tokens")}


def total(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of all counts."""
    names = [name for name in entries[0] if name != "file"] if entries else ["tokens"]
    return {name: sum(entry[name] for entry in entries) for name in names}


def show(entries: list[dict[str, Any]], names: bool) -> None:
    """Print a line for each file, as wc does, and one for the total of several files."""
    rows = [(*(entry[name] for name in entry if name != "file"), entry["file"] if names else "") for entry in entries]
    if len(rows) > 1:
        rows.append((*total(entries).values(), "total"))
    several = len(rows) > 1 or (rows and len(rows[0]) > 2)
    widths = [max(len(str(n)) for n in column) for column in zip(*rows, strict=True)][:-1] if several else [0]
    for *numbers, name in rows:
        cells = [str(n).rjust(width) for n, width in zip(numbers, widths, strict=True)]
        say("  ".join([*cells, name]).rstrip())


def price_of(prices: str | None, model: str | None, tokenizer: str) -> tuple[Prices, Price, str] | None:
    """Return the table, the chosen prices, and their name; None without a table."""
    if prices is None:
        if model is not None:
            raise click.UsageError("--price chooses an entry of a price table: give --prices FILE too")
        return None
    from tokkit.cli.costs import Prices

    table = Prices.read(prices)
    name = model or tokenizer
    return table, table.of(name), name


def bill(found: tuple[Prices, Price, str], n_input: int, n_output: int) -> dict[str, Any]:
    """Return the total cost as JSON data; amounts are text, to keep all digits."""
    table, price, name = found
    try:
        amount = price.cost(n_input, n_output)
    except OptionError as error:
        raise OptionError(f"[{name}]: {error}") from None
    about = {"model": name, "input_tokens": n_input, "output_tokens": n_output, "amount": f"{amount:f}"}
    return about | ({"currency": table.currency} if table.currency else {})


def show_bill(cost: dict[str, Any], price: Price) -> None:
    """Print the total cost with all its digits, and at least two decimals."""
    amount = Decimal(cost["amount"])
    digits = max(2, -int(amount.as_tuple().exponent))
    parts = [f"{counted(cost['input_tokens'], 'input token')} at {price.input:f} per million"]
    if cost["output_tokens"]:
        parts.append(f"{counted(cost['output_tokens'], 'output token')} at {price.output or 0:f}")
    say(f"cost of {cost['model']}: {amount:,.{digits}f} {cost.get('currency', '')}".rstrip() + f" ({', '.join(parts)})")


def over(entries: list[dict[str, Any]], limit: int | None, what: str) -> list[str]:
    """Return the files with more tokens than a limit, and print a message for each."""
    names = [entry["file"] for entry in entries if limit is not None and entry["tokens"] > limit]
    for name in names:
        shown_name = "standard input" if name == STDIN else name
        note(f"{shown_name} has more than {counted(limit or 0, 'token')}{what}")
    return names
