"""Shows how a BPE tokenizer splits words: with "@@", with dropout, or merge by merge."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli.token_text import readable

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer


def check(output: str, chosen: dict[str, Any], *, more: bool = False) -> None:
    """Raise UsageError for options that conflict; `more` is whether options such as --pad or --pair are given."""
    if more and (output == "subwords" or chosen["explain"] or chosen["dropout"] is not None):
        raise click.UsageError(
            "--explain, --dropout and --output subwords cannot be combined with --add-special, --pair, --max-length, "
            "--pad and --output full"
        )
    if chosen["seed"] is not None and chosen["dropout"] is None:
        raise click.UsageError("--seed needs --dropout")
    if output in ("npy", "bin") and (chosen["explain"] or chosen["dropout"] is not None):
        raise click.UsageError(f"--explain and --dropout write lines of text, which --output {output} cannot hold")
    if chosen["dropout"] is not None and (chosen["explain"] or output == "subwords"):
        raise click.UsageError("--dropout needs --output ids, tokens or json")


def line_of(tok: Tokenizer, output: str, chosen: dict[str, Any]) -> Callable[[str], Any] | None:
    """Return a function from a text to its line (str) or ids (list); None if plain encoding is enough."""
    special = chosen["special"]
    if chosen["explain"]:
        from tokkit.engine.sampling import Merges

        merges = Merges(tok)
        return lambda text: "\n".join(explained(merges, text, special))
    if output == "subwords":
        from tokkit.engine.sampling import Segmenter

        cutting = Segmenter(tok, chosen["separator"])
        return lambda text: cutting.segment(text, special=special)
    if chosen["dropout"] is not None:
        from tokkit.engine.sampling import Dropout

        chance, seeds = Dropout(tok, chosen["dropout"]), itertools.count(chosen["seed"] or 0)
        return lambda text: chance.encode(text, seed=next(seeds) % (1 << 64), special=special)
    return None


def explained(merges: Any, text: str, special: str) -> list[str]:
    r"""Return lines for each word: its symbols, then the symbols after each merge with the merge's number, from 1.

    >>> import tokkit
    >>> from tokkit.engine.sampling import Merges
    >>> tok = tokkit.train({"low": 5, "lowest": 2, "newer": 3}, model="bpe", vocab_size=13)
    >>> explained(Merges(tok), "low", "text")[2:5]
    ['         l o w </w>', '      1  lo w </w>', '      2  low </w>']
    """
    lines: list[str] = []
    for symbols, steps in merges.words(text, special=special):
        lines += [readable(b"".join(symbols)), "  merge  symbols", f"         {_spaced(symbols)}"]
        lines += [f"  {step.rank + 1:>5}  {_spaced(step.symbols)}" for step in steps]
    return lines


def _spaced(symbols: tuple[bytes, ...]) -> str:
    return " ".join(map(readable, symbols))
