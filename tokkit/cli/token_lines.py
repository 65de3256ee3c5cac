"""Lines that show the tokens of a text, with or without colours."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tokkit.escaping import visible
from tokkit.view import terminal

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer


def in_colours(colour: str) -> bool:
    """Return whether to use colours: as requested, or by default at a terminal if NO_COLOR is not set."""
    at_terminal = sys.stdout is not None and sys.stdout.isatty()
    return colour == "always" or (colour == "auto" and at_terminal and not os.environ.get("NO_COLOR"))


def shown_tokens(
    tok: Tokenizer, text: str, *, special: str, with_ids: bool, coloured: bool
) -> tuple[Iterable[str], int]:
    """Return (lines, number of tokens) of a text."""
    encoding = tok(text, special=special, add_special=False, truncation=None, padding=None)
    utf8 = text.encode("utf-8", "replace")
    # Text that no token covers, such as white space between words, is shown with the token after it.
    ends = list(itertools.accumulate((end for _, end in encoding.byte_offsets), max))
    ends[-1:] = [len(utf8)] if utf8 else []
    ids = encoding.ids if with_ids and len(encoding.ids) == len(ends) else None
    return terminal.lines(terminal.pieces(utf8, ends), ids=ids, coloured=coloured), len(encoding.ids)


def compared_lines(
    toks: Mapping[str, Tokenizer], text: str, *, special: str, with_ids: bool, coloured: bool
) -> tuple[Iterator[str], dict[str, int]]:
    """Return (lines, numbers of tokens): for each line of the text, one line per tokenizer, after its name.

    A token is shown in the line in which it begins. A "*" comes before tokens that the first tokenizer does not have,
    not counting white space at their ends.
    """
    from tokkit.view.token_spans import encoded, trimmed

    utf8 = text.encode("utf-8", "replace")
    found = {name: encoded(tok, text, special=special) for name, tok in toks.items()}
    width = max(map(len, toks))
    compared = {name: trimmed(utf8, made) for name, made in found.items()}
    known = set(compared[next(iter(toks))])

    def lines() -> Iterator[str]:
        begun, firsts = 0, dict.fromkeys(toks, 0)
        for line in re.findall(rb"[^\n]*\n|[^\n]+", utf8):
            before, begun = begun, begun + len(line)
            for name, made in found.items():
                first, last = firsts[name], int(np.searchsorted(made.starts, begun, "left"))
                last = len(made) if begun == len(utf8) else last
                firsts[name] = last
                ends = made.ends[first:last].tolist()
                if not ends:
                    continue
                start = max(before, int(made.ends[first - 1]) if first else 0)
                marks = ["" if a == b or (a, b) in known else "*" for a, b in compared[name][first:last]]
                shown = terminal.pieces(utf8[start : ends[-1]], [end - start for end in ends])
                marked = [mark + piece for mark, piece in zip(marks, shown, strict=True)]
                ids = made.ids[first:last].tolist() if with_ids else None
                whole = "".join(terminal.lines(marked, ids=ids, coloured=coloured))
                yield f"{visible(name):<{width}} {whole}"

    return lines(), {name: len(made) for name, made in found.items()}
