"""Chooses where chunks begin and end, by the ranks of boundaries between tokens, and counts their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokkit._core.documents import Pauses
from tokkit.encoding.alignment import character_spans

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

MARKDOWN, CODE = 3, 4
"""Numbers of `At` (tokkit/chunks/chunking.py), as in csrc/text/pauses.h."""
SEARCHED, SEARCHED_BY_STRUCTURE = 3, 2
"""Share of a chunk, at its end, that is searched for a boundary: a third; half for headings and functions."""
NO_SPANS = np.empty((0, 2), dtype=np.int64)

Spans = list[tuple[int, int, int]]
"""(start, end, number of tokens) of chunks."""


class Planner:
    """Plans the chunks of one text, window by window; it keeps the state at the end of a window for the next."""

    def __init__(self, tok: Tokenizer, tokens: int, overlap: int, at: int) -> None:
        self.tokens, self._overlap, self._at = tokens, overlap, at
        self._engine = tok.engine
        self._indented = at in (MARKDOWN, CODE)
        self._searched = tokens // (SEARCHED_BY_STRUCTURE if self._indented else SEARCHED)
        self._fence = (0, 0)
        self._continues = False
        self._covered = 0

    def plan(self, text: str, *, last: bool) -> tuple[Spans, int]:
        """Return the chunks of a window, in characters, and the start of the next window.

        A chunk that may reach the end of the window is left to the next one, unless this is the last.
        """
        utf8, spans = self._engine.spans(text, "text")
        pauses = self._pauses = Pauses(utf8, spans, self._at, self._fence, self._continues)
        found: Spans = []
        first, n = 0, pauses.n
        while first < n and (last or first + self.tokens < n):
            start, end, first, n_tokens = self._chunk(first)
            # Before much white space, the repeated part may take all the room.
            if start < end and end > self._covered:
                found.append((start, end, n_tokens))
                self._covered = end
                if self._overlap and first < n:
                    first = pauses.again(start, first, self._overlap)
        used = len(utf8)
        if not last:
            # Without tokens, the text is only white space.
            used, _ = pauses.trim(pauses.byte(first), used, self._indented)
            self._fence = Pauses(utf8[:used], NO_SPANS, self._at, self._fence, self._continues).fence
            self._covered -= used
            self._continues = utf8[used - 1 : used] != b"\n" if used else self._continues
        if not text.isascii():
            places = np.array([*found, (used, used, 0)], dtype=np.int64)
            places[:, :2] = character_spans(text, places[:, :2], utf8)
            *rows, (used, _, _) = places.tolist()
            found = [(start, end, n_tokens) for start, end, n_tokens in rows]
        return found, used

    def _chunk(self, first: int) -> tuple[int, int, int, int]:
        """Return (start, end, cut, tokens) of the chunk from the token `first` on; it ends before the token `cut`."""
        pauses, room = self._pauses, self.tokens
        while True:
            start, end, cut = pauses.chunk(first, room, self._searched, self._indented)
            n_tokens = self._count(start, end)
            # A part alone may have more tokens than within the text, for example a word that is cut or has lost its
            # space.
            excess = n_tokens - self.tokens
            if excess <= 0:
                return start, end, cut, n_tokens
            if cut <= first + 1 or room <= 1:
                start, end = pauses.trim(pauses.byte(first), pauses.byte(cut))  # without its indentation
                return start, end, cut, self._count(start, end)
            room = max(1, min(room, cut - first) - excess)

    def _count(self, start: int, end: int) -> int:
        """Return the number of tokens of a part when encoded alone; only the text around its ends is encoded again."""
        utf8 = self._pauses.utf8
        first, last, n_around = self._engine.count_part(utf8, start, end)
        if first == last:
            return n_around
        n_between = self._pauses.count(first, last)
        # An added token of the whole text may cross an end, so that the part does not contain it.
        return n_around + n_between if n_between >= 0 else self._engine.count(utf8[start:end])
