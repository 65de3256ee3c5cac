"""Makes a snippet of a passage for a query: one line with as many of the query's words as possible."""

from __future__ import annotations

import re

from tokkit.escaping import visible

WIDTH = 160
"""Maximum characters of a snippet: two lines of a terminal."""
_WORD = re.compile(r"\w+")
MIN_WORD = 4
"""Minimum letters of a query word that is searched for; shorter words say little about a text."""


def printable(text: str) -> str:
    r"""Return text on one line, with runs of white space as single spaces, and control characters escaped.

    >>> printable("a\n\tb \x1b[31m\ud800")
    'a b \\x1b[31m\\ud800'
    """
    return visible(" ".join(text.split()))


def snippet(text: str, query: str = "", *, width: int = WIDTH) -> str:
    """Return at most `width` characters of a passage, with "…" where text is left out.

    >>> snippet("The cat sat. " * 9 + "A river bank.", "bank of a river", width=40)
    '… cat sat. The cat sat. A river bank.'
    """
    line = printable(text)
    if len(line) <= width:
        return line
    words = {word for word in _WORD.findall(query.casefold()) if len(word) >= MIN_WORD}
    found = [(m.start(), m[0].casefold()) for m in _WORD.finditer(line) if m[0].casefold() in words]
    start, best = 0, 0
    for i, (place, _) in enumerate(found):
        here = len({word for at, word in found[i:] if at < place + width // 2})
        if here > best:
            start, best = place, here
    # A third of the width is for the text before the first word.
    start = min(max(0, start - width // 3), len(line) - width + 2)
    if start > 0:
        start = line.find(" ", start) + 1 or start
    room = width - 2 * (start > 0)
    if start + room >= len(line):
        return "… " * (start > 0) + line[start:]
    end = line.rfind(" ", start + room // 2, start + room - 1)
    return "… " * (start > 0) + line[start : end if end > 0 else start + room - 2].rstrip() + " …"
