"""The chunks that tokkit.chunks chooses for a text, by a naive search."""

from __future__ import annotations

import tokkit
from reference.pauses import fences, rank


def chunks(text: str, tok: tokkit.Tokenizer, tokens: int, overlap: int, at: str) -> list[tuple[int, int, int]]:
    """Return (start, end, tokens) of each chunk."""
    utf8 = text.encode()
    spans = tok(text, add_special=False, truncation=None, padding=None).byte_offsets
    n, inside = len(spans), fences(text) if at == "markdown" else []
    starts, ranks = [0] * (n + 1), [0] * n
    starts[n] = len(text)
    for i in range(1, n):
        begin = spans[i][0]
        starts[i] = len(utf8[:begin].decode("utf-8", "ignore"))
        if begin >= spans[i - 1][1] and (begin == len(utf8) or utf8[begin] & 0xC0 != 0x80):
            fenced = any(a < starts[i] < b for a, b in inside)
            ranks[i] = rank(text, starts[i], at) + 64 * (at == "markdown" and not fenced)
    found, first = [], 0
    while first < n:
        start, end, cut, count = _one(text, tok, tokens, at, starts, ranks, first)
        if start >= end or (found and end <= found[-1][1]):
            first = cut
            continue
        found.append((start, end, count))
        content = end - len(text[start:end].lstrip())
        lower, upper = max(cut - overlap, min(i for i in range(n + 1) if starts[i] > content or i == n)), cut
        while upper > lower and not (ranks[upper - 1] and text[starts[upper - 1] : starts[cut]].strip()):
            upper -= 1
        again = max(range(lower, upper), key=lambda i: (ranks[i], -i), default=cut) if overlap and cut < n else cut
        first = again if again == cut or ranks[again] else cut
    return found


def _one(
    text: str, tok: tokkit.Tokenizer, tokens: int, at: str, starts: list[int], ranks: list[int], first: int
) -> tuple[int, int, int, int]:
    n, room, searched = len(ranks), tokens, tokens // (2 if at in ("markdown", "code") else 3)
    while True:
        upper = cut = min(first + room, n)
        if upper < n:
            cut = max(range(max(first + 1, upper - searched), upper + 1), key=lambda i: (ranks[i], i))
            earlier = max(range(first + 1, upper + 1), key=lambda i: (ranks[i], i))
            cut = earlier if at == "markdown" and ranks[cut] < 64 <= ranks[earlier] else cut
            allowed = [i for i in range(first + 1, upper + 1) if ranks[i]] or [i for i in range(upper, n) if ranks[i]]
            cut = cut if ranks[cut] else ([*allowed, n][0] if not allowed or allowed[0] > upper else allowed[-1])
        start, end = starts[first], starts[cut]
        part = text[start:end]
        start, end = end - len(part.lstrip()), start + len(part.rstrip())
        line, least = text.rfind("\n", 0, start) + 1, cut <= first + 1 or room <= 1
        indented = at in ("markdown", "code") and not text[line:start].strip() and start < end
        counts = [(i, tok.count(text[i:end]) if i < end else 0) for i in ([line] if indented else []) + [start]]
        start, count = counts[-1 if least and counts[0][1] > tokens else 0]
        if count <= tokens or least:
            return start, max(end, start), cut, count
        room = max(1, min(room, cut - first) - (count - tokens))
