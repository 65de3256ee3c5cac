"""Cuts a text into matches of a pattern and the text between them, by the `regex` package.

`regex` follows a newer Unicode than we do. So each character that 16.0 does not assign is replaced by one that no
version does, and U+0295, whose category has changed since, by a letter of its old category.
"""

from __future__ import annotations

from functools import cache

import regex

from tokkit._core.text import category

CN, UNASSIGNED = 29, "\U0003ffff"
TOKEN = regex.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", regex.DOTALL)  # an escape, a class, or what we look for
NESTED_TOKEN = regex.compile(r"\\.|(\[\^?\]?(?:\\.|(?1)|[^\[\]\\])*\])|\$", regex.DOTALL)  # classes may hold others
VERSION_1 = regex.compile(r"\(\?[A-Za-z0-9]*V1")
KNOWN = regex.compile(r"\P{Cn}")
ALL_BUT_ONE = regex.compile(r"\[\^(\\x..|\\u.{4}|\\U.{8}|\\[^xuUpPN]|[^\\\]])\]", regex.DOTALL)


@cache
def stand_in(character: str) -> str:
    if character == "\u0295":
        return "\u0296"
    newer = category(ord(character)) == CN and KNOWN.match(character)
    return UNASSIGNED if newer else character


def plainer(found: regex.Match[str]) -> str:
    """The end of the text for `$`; and [^aa] for [^a], as `regex` takes [^a]|[^b] for [^ab]."""
    if found.group() == "$":
        return r"\Z"
    return ALL_BUT_ONE.sub(r"[^\1\1]", found.group())


def stretches(pattern: str, text: str, *, keep_unmatched: bool, seconds: float | None = None) -> list[tuple[int, bool]]:
    """Return (end in bytes, dropped) of each stretch. `$` is the end of the text (encoding.md, 4b).

    TimeoutError where `regex` takes more than so many seconds.
    """
    found: list[tuple[int, bool]] = []
    last = 0
    stood_in = "".join(map(stand_in, text))
    token = NESTED_TOKEN if VERSION_1.search(pattern) else TOKEN
    for match in regex.finditer(token.sub(plainer, pattern), stood_in, timeout=seconds):
        start, end = match.span()
        if start > last:
            found.append((start, not keep_unmatched))
        if end > start:
            found.append((end, False))
        last = end
    if last < len(text):
        found.append((len(text), not keep_unmatched))
    widths = [len(character.encode()) for character in text]
    ends = [0]
    for width in widths:
        ends.append(ends[-1] + width)
    return [(ends[end], dropped) for end, dropped in found]
