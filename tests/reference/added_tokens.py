"""Added tokens in a text: leftmost, then longest, by trying each position in turn."""

from __future__ import annotations

import re
from collections.abc import Callable

Token = tuple[str, int, bool, bool, bool]
"""Content, id, single_word, lstrip, rstrip."""
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
BEFORE, BEHIND = re.compile(f"[{WHITE}]*\\Z"), re.compile(f"[{WHITE}]*")


def raw_matches(text: str, tokens: list[Token]) -> list[tuple[int, int, Token]]:
    """All tokens, whatever their flags: (start, end, token)."""
    found, at = [], 0
    while at < len(text):
        here = [token for token in tokens if token[0] and text.startswith(token[0], at)]
        if here:
            token = max(here, key=lambda token: len(token[0]))  # of two alike the first
            found.append((at, at + len(token[0]), token))
            at += len(token[0])
        else:
            at += 1
    return found


def cut(
    text: str,
    tokens: list[Token],
    is_word: Callable[[str], bool],
    allowed: Callable[[Token], bool] = lambda token: True,
) -> list[tuple[str, int | None]]:
    """Pieces, each with the id of the token that it is, or None."""
    pieces: list[tuple[str, int | None]] = []
    taken = 0
    for raw_start, raw_end, token in raw_matches(text, tokens):
        start, end = raw_start, raw_end
        _, id_, single_word, lstrip, rstrip = token
        if not allowed(token):
            continue
        if single_word and (is_word(text[start - 1 : start]) or is_word(text[end : end + 1])):
            continue
        if lstrip:
            start = max(BEFORE.search(text[:start]).start(), taken)  # type: ignore[union-attr]
        if rstrip:
            end += len(BEHIND.match(text[end:]).group())  # type: ignore[union-attr]
        if start >= end:  # all of it was taken as white space
            continue
        if taken < start:
            pieces.append((text[taken:start], None))
        pieces.append((text[start:end], id_))
        taken = end
    if taken != len(text):
        pieces.append((text[taken:], None))
    return pieces
