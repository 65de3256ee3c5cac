"""Lines that show the tokens of a text, with or without colours."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

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
    # What no token covers, as the white space between words, is shown with the token after it.
    ends = list(itertools.accumulate((end for _, end in encoding.byte_offsets), max))
    ends[-1:] = [len(utf8)] if utf8 else []
    ids = encoding.ids if with_ids and len(encoding.ids) == len(ends) else None
    return terminal.lines(terminal.pieces(utf8, ends), ids=ids, coloured=coloured), len(encoding.ids)
