"""Shows the tokens of a text at a terminal, in colours or between bars.

Characters that are not printable are escaped, so that a file cannot control the terminal, for example move the cursor
or change the title.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tokkit.escaping import escaped

COLOURS = (153, 157, 223, 217, 183, 159)
"""Pale colours of a terminal's 256: black text is readable on them, and neighbours are easy to distinguish."""
BAR = "│"
RESET = "\x1b[0m"


def pieces(text: bytes, ends: Sequence[int]) -> list[str]:
    r"""Return the text of each token, printable; `ends` are in bytes, and the bytes of a divided character are escaped.

    >>> pieces("né 🙂\n".encode(), [1, 3, 4, 6, 8, 9])
    ['n', 'é', ' ', '\\xf0\\x9f', '\\x99\\x82', '\\n']
    """
    shown = (text[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise([0, *ends]))
    return ["".join(c if c.isprintable() else escaped(c) for c in piece) for piece in shown]


def lines(shown: Sequence[str], *, ids: Sequence[int] | None = None, coloured: bool) -> Iterator[str]:
    r"""Yield lines of tokens; a token with a line end ends its line. With `ids`, the id is after each token.

    >>> list(lines(["a", " b", "\\n", "c"], coloured=False))
    ['│a│ b│\\n│', '│c│']
    >>> list(lines(["a", " b"], ids=[7, 8], coloured=False))
    ['│a 7│ b 8│']
    """
    line: list[str] = []
    for i, piece in enumerate(shown):
        named = piece if ids is None else f"{piece} {ids[i]}" if not coloured else f"{piece}\x1b[2m {ids[i]}"
        line.append(f"\x1b[30;48;5;{COLOURS[i % len(COLOURS)]}m{named}{RESET}" if coloured else named)
        if piece.endswith("\\n") or i == len(shown) - 1:
            yield "".join(line) if coloured else f"{BAR}{BAR.join(line)}{BAR}"
            line = []
