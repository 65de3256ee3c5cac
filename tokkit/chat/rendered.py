"""A rendered chat, which knows what the template wrote and what came from the messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A chat as text. Spans are (start, end) in characters, in order.

    `special` are the special tokens that the template wrote. `from_data` are texts of special tokens that came, wholly
    or partly, from messages, tools or other data; they are ordinary text (a partial one may contain another token that
    is special). `generated` are the outputs of `{% generation %}` blocks. `traced` is False if the template examined
    the data in a way that could not be traced: then only tokens in the template's source are special.
    """

    text: str
    special: tuple[Span, ...] = ()
    from_data: tuple[Span, ...] = ()
    generated: tuple[Span, ...] = ()
    traced: bool = True

    @property
    def parts(self) -> list[tuple[str, bool]]:
        """The text in parts: encode (text, True) with special tokens, (text, False) without them.

        Parts end only next to special tokens, so that no merge of ordinary text is affected; a text without special
        tokens from data is one part.
        """
        if not self.from_data:
            return [(self.text, True)] if self.text else []
        found, at = [], 0
        for start, end in self.special:
            found += [(self.text[at:start], False), (self.text[start:end], True)]
            at = end
        found.append((self.text[at:], False))
        return [(text, is_template) for text, is_template in found if text]


def matches(text: str, tokens: Iterable[str]) -> list[Span]:
    """Return the spans of special tokens: leftmost, then longest."""
    pattern = _pattern(tokens)
    return [match.span() for match in pattern.finditer(text)] if pattern else []


def matches_of(text: str, tokens: Iterable[str], found: Sequence[Span], allowed: NDArray[np.bool_]) -> list[Span]:
    """Return the spans of special tokens whose characters are all allowed; `found` are those of the whole text.

    A character that is not allowed is in no token, so it separates runs. A token in a run also occurs in the whole
    text, where it is found or overlaps one that is found, so only such runs are searched.
    """
    pattern = _pattern(tokens)
    if pattern is None or all(allowed[start:end].all() for start, end in found):
        return list(found)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], allowed, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    runs: set[int] = set()
    for start, end in found:
        runs.update(range(int(np.searchsorted(ends, start, "right")), int(np.searchsorted(starts, end))))
    return [match.span() for run in sorted(runs) for match in pattern.finditer(text, int(starts[run]), int(ends[run]))]


def _pattern(tokens: Iterable[str]) -> re.Pattern[str] | None:
    longest = sorted((token for token in tokens if token), key=lambda token: (-len(token), token))
    return re.compile("|".join(map(re.escape, longest))) if longest else None
