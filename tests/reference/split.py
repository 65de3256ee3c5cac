"""The split patterns run by the `regex` package, with Unicode 16.0.0 classes.

`regex` follows a newer Unicode than the encodings do. So each character is first replaced by one of the same
category that every version of Unicode has put there since long ago; the pattern runs on those, and the spans
that it finds cut the real text. ASCII and U+017F (which folds to s) are their own representatives, so whatever
a pattern spells out literally is still found.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import regex

from reference.stand_ins import representative


@cache
def compiled(pattern: str) -> regex.Pattern[str]:
    # Python's `$` is also the place before a last newline, Rust's is not; behind the `\s++` of the patterns, which
    # leaves no newline, that makes no difference.
    return regex.compile(pattern)


def spans(pattern: str | None, text: str, *, keep_unmatched: bool = False) -> Iterator[tuple[int, int]]:
    """Yield (start, end) in characters of each piece; None makes the whole text one piece."""
    if pattern is None:
        if text:
            yield 0, len(text)
        return
    stand_in = "".join(map(representative, text))
    end = 0
    for match in compiled(pattern).finditer(stand_in):
        if keep_unmatched and end < match.start():
            yield end, match.start()
        if match.start() < match.end():
            yield match.span()
        end = match.end()
    if keep_unmatched and end < len(text):
        yield end, len(text)


def split(pattern: str | None, text: str, *, keep_unmatched: bool = False) -> list[str]:
    """Return the pieces themselves."""
    return [text[start:end] for start, end in spans(pattern, text, keep_unmatched=keep_unmatched)]
