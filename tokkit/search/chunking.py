"""Cuts a text into chunks of at most n tokens, which may overlap, at pauses in the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokkit.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokkit.tokenizer import Tokenizer

MIN_TOKENS = 8
"""Minimum tokens of a chunk; hardly any character has more."""
SEGMENT = 1 << 20
"""Characters that are tokenized at once; a longer text is cut at a pause, without overlap there."""
WHITE = 64
"""Characters of white space that are looked at on each side: of a million, each place would see all."""
SEARCHED = 3
"""A pause is looked for in the last third of a chunk."""
WITHIN, BETWEEN, SENTENCE, LINE, PARAGRAPH = range(5)
"""Ranks of pauses between two tokens: inside a word, between words, after a sentence, …"""
ENDS = frozenset(".!?…;:。！？；।؟۔")
NO_SPACES = frozenset("。！？；")


def chunks(text: str, tok: Tokenizer, *, tokens: int, overlap: int = 0) -> Iterator[tuple[int, int]]:
    r"""Yield (start, end), in characters, of chunks that have at most `tokens` tokens on their own.

    A chunk ends at the last of the greatest pauses (paragraph, line, sentence, word) in its last third, and the next
    one begins at such a pause within the `overlap` tokens before that end. Together, chunks cover all but white space;
    no character is cut, though one that has more tokens alone is a chunk all the same. OptionError for fewer than 8
    tokens, or an overlap of more than half of them.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["a b"]), vocab_size=256)
    >>> text = "One two three.\nFour, five."
    >>> [text[start:end] for start, end in chunks(text, tok, tokens=16)]
    ['One two three.', 'Four, five.']
    """
    check(tokens, overlap)
    start = 0
    while start < len(text):
        end = _segment_end(text, start)
        for a, b in _spans(text[start:end], tok, tokens, overlap):
            yield start + a, start + b
        start = end


def check(tokens: int, overlap: int) -> None:
    """Raise OptionError for sizes that cannot work."""
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < MIN_TOKENS:
        raise OptionError(f"tokens is {tokens!r}; it must be at least {MIN_TOKENS}")
    if isinstance(overlap, bool) or not isinstance(overlap, int) or not 0 <= overlap <= tokens // 2:
        raise OptionError(f"overlap is {overlap!r}; for chunks of {tokens} tokens it must be from 0 to {tokens // 2}")


def _segment_end(text: str, start: int) -> int:
    end = start + SEGMENT
    if end >= len(text):
        return len(text)
    for pause in ("\n", " "):
        found = text.rfind(pause, start + SEGMENT // 2, end)
        if found >= 0:
            return found + 1
    return end


def _spans(text: str, tok: Tokenizer, tokens: int, overlap: int) -> Iterator[tuple[int, int]]:
    made = tok(text, add_special=False, truncation=None, padding=None)
    boundaries = _Boundaries(text, made.as_arrays("offsets")["offsets"])
    first, n = 0, boundaries.n
    while first < n:
        last = boundaries.end(first, tokens)
        # Tokens of a part on its own may be more than in the whole: of a word that is cut, or without the space before.
        start, end = boundaries.at(first), boundaries.at(last)
        while (excess := tok.count(text[start:end].strip()) - tokens) > 0 and last > first + 1:
            last = boundaries.before(max(first + 1, last - excess), first)
            end = boundaries.at(last)
        start += len(text[start:end]) - len(text[start:end].lstrip())
        if start < end:
            yield start, start + len(text[start:end].rstrip())
        first = last if last == n else boundaries.again(start, last, overlap)


class _Boundaries:
    """The places between the n tokens of a text: 0 before the first, n after the last."""

    def __init__(self, text: str, offsets: NDArray[np.int64]) -> None:
        self._text, self._starts, self._ends = text, offsets[:, 0].tolist(), offsets[:, 1].tolist()
        self.n = len(self._starts)

    def at(self, cut: int) -> int:
        """The character of the text at a cut; what is before the first token, or after the last, belongs to it."""
        return 0 if cut == 0 else len(self._text) if cut == self.n else self._starts[cut]

    def pause(self, cut: int) -> int:
        """How much of a pause is at a cut; -1 inside of a character."""
        if cut in (0, self.n):
            return PARAGRAPH
        if self._starts[cut] < self._ends[cut - 1]:
            return -1
        text = self._text
        # White space around the cut, whichever token it belongs to.
        left = right = self._starts[cut]
        lower, upper = max(0, left - WHITE), min(len(text), right + WHITE)
        while left > lower and text[left - 1].isspace():
            left -= 1
        while right < upper and text[right].isspace():
            right += 1
        lines = text.count("\n", left, right)
        if lines:
            return PARAGRAPH if lines > 1 else LINE
        before = text[left - 1] if left else ""
        if before in ENDS and (right > left or before in NO_SPACES):
            return SENTENCE
        return BETWEEN if right > left else WITHIN

    def end(self, first: int, tokens: int) -> int:
        """Where a chunk that begins at `first` ends."""
        upper = first + tokens
        if upper >= self.n:
            return self.n
        found = max(range(upper - tokens // SEARCHED, upper + 1), key=lambda cut: (self.pause(cut), cut))
        return found if self.pause(found) >= 0 else self.before(upper, first)

    def before(self, cut: int, first: int) -> int:
        """The last cut at or before this one that is in no character, else the next after it; after `first`."""
        found = cut
        while found > first and self.pause(found) < 0:
            found -= 1
        if found > first:
            return found
        found = max(cut, first + 1)
        while self.pause(found) < 0:
            found += 1
        return found

    def again(self, start: int, last: int, overlap: int) -> int:
        """Where the chunk begins that follows the one from the character `start` to the cut `last`."""
        lower, upper = max(0, last - overlap), last
        while lower < last and self.at(lower) <= start:
            lower += 1
        # What is repeated is more than the white space of the pause itself.
        while upper > lower and not self._text[self.at(upper - 1) : self.at(last)].strip():
            upper -= 1
        found = max(range(lower, upper), key=lambda cut: (self.pause(cut), -cut), default=last)
        return found if self.pause(found) >= 0 else last
