"""Compares tokenizers on texts: a table of counts for Python and notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokkit import lazy
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Row:
    """The counts of one tokenizer on one text: tokens, tokens per word, bytes per token.

    `compression` is the first tokenizer's number of tokens divided by this one's. Words are separated by white space. A
    rate is NaN if there is nothing to divide by.
    """

    text: str
    tokenizer: str
    tokens: int
    tokens_per_word: float
    bytes_per_token: float
    compression: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts of several tokenizers, with a row for each text and tokenizer. A notebook shows them as a table."""

    rows: list[Row]
    _repr_html_ = lazy.notebook_html

    def __str__(self) -> str:
        """Return the table as lines of text."""
        head = ("text", "tokenizer", "tokens", "tokens/word", "bytes/token", "compression")
        cells = [head, *(cells_of(row) for row in self.rows)]
        widths = [max(len(line[k]) for line in cells) for k in range(len(head))]
        lines = (
            [cell.ljust(n) if k < 2 else cell.rjust(n) for k, (cell, n) in enumerate(zip(line, widths, strict=True))]
            for line in cells
        )
        return "\n".join("  ".join(line).rstrip() for line in lines)


def cells_of(row: Row) -> tuple[str, ...]:
    """Return the cells of a row as text; NaN is a dash."""
    rates = (row.tokens_per_word, row.bytes_per_token, row.compression)
    return row.text, row.tokenizer, f"{row.tokens:,}", *("-" if rate != rate else f"{rate:.3f}" for rate in rates)


def compare(toks: Mapping[str, Tokenizer], texts: str | Mapping[str, str]) -> Comparison:
    """Compare tokenizers, given by name, on a text or on several named ones, for example languages.

    Special tokens in a text count as ordinary text, and none are added. OptionError if there is no tokenizer or no
    text.

    >>> import tokkit
    >>> toks = {name: tokkit.train({"low": 9, "er": 5}, model=name, vocab_size=n) for name, n in
    ...         (("bbpe", 259), ("char", 12))}
    >>> print(compare(toks, "low lower"))
    text  tokenizer  tokens  tokens/word  bytes/token  compression
    text  bbpe            4        2.000        2.250        1.000
    text  char            9        4.500        1.000        0.444
    """
    named = {"text": texts} if isinstance(texts, str) else dict(texts)
    if not toks or not named:
        raise OptionError(
            f"{len(toks)} tokenizers and {len(named)} texts were given; there must be at least one of each"
        )
    rows = []
    for name, text in named.items():
        n_bytes, n_words, first = len(text.encode("utf-8", "replace")), len(text.split()), 0
        for tokenizer, tok in toks.items():
            n = len(tok.encode_to_numpy(text))
            first = first or n
            rows.append(Row(name, tokenizer, n, _rate(n, n_words), _rate(n_bytes, n), _rate(first, n)))
    return Comparison(rows)


def _rate(n: int, of: int) -> float:
    return n / of if of else float("nan")
