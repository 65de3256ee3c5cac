"""Chooses where chunks end and begin, by the ranks of pauses between tokens, and counts the tokens of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokkit._core.text import Pauses
from tokkit.encoding.alignment import character_spans

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

MARKDOWN, CODE = 3, 4
"""Numbers of `At` (tokkit/chunks/chunking.py), as csrc/text/pauses.h has them."""
OUTSIDE = 64
"""What the ranks of places outside of a code fence have at least; see csrc/text/pauses.h."""
SEARCHED, SEARCHED_BY_STRUCTURE = 3, 2
"""A pause is looked for in the last third of a chunk; headings and functions are farther apart."""
SHORT = 1 << 10
"""Bytes of a part that is encoded again as a whole: to look for where it may be cut takes as long (bench_chunks)."""
NO_SPANS = np.empty((0, 2), dtype=np.int64)

Spans = list[tuple[int, int, int]]
"""(start, end, number of tokens) of chunks."""


class Planner:
    """Plans the chunks of one text, window by window: what is open at the end of one is known in the next."""

    def __init__(self, tok: Tokenizer, tokens: int, overlap: int, at: int) -> None:
        self.tokens, self._overlap, self._at = tokens, overlap, at
        self._engine = tok._engine
        self._indented = at in (MARKDOWN, CODE)
        self._searched = tokens // (SEARCHED_BY_STRUCTURE if self._indented else SEARCHED)
        self._fence = (0, 0)
        self._continues = False
        self._covered = 0

    def plan(self, text: str, *, last: bool) -> tuple[Spans, int]:
        """Return the chunks of a window, in characters, and where the next window begins.

        A chunk that may reach the end of the window is left to the next one, unless this is the last.
        """
        utf8, _, spans, _ = self._engine.aligned(text, "text")
        pauses = self._pauses = Pauses(utf8, spans, self._at, self._fence, self._continues)
        found: Spans = []
        first, n = 0, pauses.n
        while first < n and (last or first + self.tokens < n):
            start, end, first, n_tokens = self._chunk(first)
            # What is repeated may be all that there is room for, before much white space.
            if start < end and end > self._covered:
                found.append((start, end, n_tokens))
                self._covered = end
                first = first if first == n or not self._overlap else self._again(start, first)
        used = len(utf8)
        if not last:
            # Without a token there may be white space only.
            used, _ = pauses.trim(pauses.byte(first), used, self._indented)
            self._fence = Pauses(utf8[:used], NO_SPANS, self._at, self._fence, self._continues).fence
            self._covered -= used
            self._continues = utf8[used - 1 : used] != b"\n" if used else self._continues
        places = np.array([*(span[:2] for span in found), (used, used)], dtype=np.int64)
        at = character_spans(text, places, utf8).tolist()
        return [(a, b, n) for (a, b), (_, _, n) in zip(at, found, strict=False)], at[-1][0]

    def _chunk(self, first: int) -> tuple[int, int, int, int]:
        """Return (start, end, cut, tokens) of the chunk from the token `first` on; it ends before the token `cut`."""
        pauses, room = self._pauses, self.tokens
        begin = pauses.byte(first)
        while True:
            cut = self._end(first, room)
            start, end = pauses.trim(begin, pauses.byte(cut), self._indented)
            n_tokens = self._count(start, end)
            # Tokens of a part on its own may be more than in the whole: of a word that is cut, or without its space.
            excess = n_tokens - self.tokens
            if excess > 0 and self._indented and (cut <= first + 1 or room <= 1):
                start, end = pauses.trim(begin, pauses.byte(cut))
                n_tokens = self._count(start, end)
            if excess <= 0 or cut <= first + 1 or room <= 1:
                return start, end, cut, n_tokens
            room = max(1, min(room, cut - first) - excess)

    def _count(self, start: int, end: int) -> int:
        """Return how many tokens a part of the text has on its own; only what is around its ends is encoded again."""
        pauses, engine = self._pauses, self._engine
        utf8 = pauses.utf8
        after = before = end
        if end - start > SHORT:
            after, before = engine.part_ends(utf8, start, end, "text")
        if after < before:
            i, j = pauses.place(after), pauses.place(before)
            if pauses.byte(i) == after and pauses.byte(j) == before:
                head = engine.encode_part(utf8[start:after], "text", continues=False, goes_on=True)
                tail = engine.encode_part(utf8[before:end], "text", continues=True, goes_on=False)
                return len(head) + j - i + len(tail)
        return engine.count(utf8[start:end])

    def _end(self, first: int, room: int) -> int:
        """Where a chunk ends that begins at `first` and has at most `room` tokens of the whole text."""
        pauses, upper = self._pauses, first + room
        if upper >= pauses.n:
            return pauses.n
        found = pauses.last_best(max(first + 1, upper - self._searched), upper + 1)
        if self._at == MARKDOWN and pauses.rank(found) < OUTSIDE:  # in a code fence, which may be cut before it begins
            earlier = pauses.last_best(first + 1, upper + 1)
            found = earlier if pauses.rank(earlier) >= OUTSIDE else found
        return found if pauses.rank(found) else self._outside_character(upper, first)

    def _outside_character(self, cut: int, first: int) -> int:
        """The last place at or before this one that is in no character, else the next after it; after `first`."""
        ranks = self._pauses.ranks
        before = np.flatnonzero(ranks[first + 1 : cut + 1])
        if len(before):
            return first + 1 + int(before[-1])
        after = np.flatnonzero(ranks[cut:])
        return cut + int(after[0]) if len(after) else self._pauses.n

    def _again(self, start: int, cut: int) -> int:
        """Where the chunk begins that follows the one from the byte `start` to the place `cut`."""
        pauses, upper, end = self._pauses, cut, self._pauses.byte(cut)
        lower = max(cut - self._overlap, pauses.place(pauses.trim(start, end)[0] + 1))
        # What is repeated is more than the white space of the pause itself.
        while upper > lower and (not pauses.rank(upper - 1) or pauses.trim(pauses.byte(upper - 1), end)[0] == end):
            upper -= 1
        if lower >= upper:
            return cut
        found = pauses.first_best(lower, upper)
        return found if pauses.rank(found) else cut
