"""Changes an aligned text by rules on strings: replaced matches, changed characters, Unicode normalization, splits."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText

Edit = tuple[int, str]
"""(number of characters that are replaced, what replaces them)."""
MAX_KEPT = 64
"""Number of characters of the longest pretoken whose changes are remembered, within one text."""
_SEGMENT = re.compile(r"[\0-\x7f]?[^\0-\x7f]*", re.DOTALL)


def edit(text: AlignedText, edits: Callable[[str], Iterable[Edit] | None]) -> None:
    """Change each pretoken by the edits that cover it from its start to its end; None changes nothing."""
    known: dict[str, list[tuple[str, int]] | None] = {}
    is_changed = False
    for pretoken in set(text.pieces):
        found = edits(pretoken)
        is_changed |= found is not None
        if found is None:
            known[pretoken] = None
        elif len(pretoken) <= MAX_KEPT:
            known[pretoken] = list(changes(found))

    def changed(pretoken: str) -> Iterable[tuple[str, int]]:
        if pretoken in known:
            made = known[pretoken]
            return zip(pretoken, itertools.repeat(0), strict=False) if made is None else made
        return changes(edits(pretoken) or ())

    if is_changed:
        text.rewrite(changed)


def changes(edits: Iterable[Edit]) -> Iterator[tuple[str, int]]:
    """Yield edits as (character, change) of `AlignedText.rewrite`.

    >>> list(changes([(1, "ss"), (2, ""), (1, "x")]))
    [('s', 0), ('s', 1), ('x', -2)]
    """
    removed = 0
    for n_old, new in edits:
        last = len(new) - 1
        for i, character in enumerate(new):
            used = removed + (1 if i < n_old else 0) + (max(n_old - 1 - last, 0) if i == last else 0)
            removed = 0
            yield character, 1 - used
        if not new:
            removed += n_old


def replaced(text: str, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]) -> Iterator[Edit] | None:
    """Return the edits that replace the matches of a pattern, None if there are none."""
    return None if pattern.search(text) is None else _replaced(text, pattern, replacement)


def _replaced(text: str, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]) -> Iterator[Edit]:
    at = 0
    for match in pattern.finditer(text):
        yield from ((1, character) for character in text[at : match.start()])
        yield match.end() - match.start(), replacement(match)
        at = match.end()
    yield from ((1, character) for character in text[at:])


def whole(old: str, new: str) -> Iterable[Edit] | None:
    """Return the edits of a text that becomes another one, character by character if both are of one length."""
    if old == new:
        return None
    return [(1, character) for character in new] if len(old) == len(new) else [(len(old), new)]


def normalized(text: str, form: Any) -> Iterable[Edit] | None:
    """Return the edits of a Unicode normalization, as Python's unicodedata does it; None if nothing changes."""
    return None if unicodedata.is_normalized(form, text) else segments(text, form)


def segments(text: str, form: Any) -> Iterator[Edit]:
    """Yield the edits of a Unicode normalization.

    ASCII characters never combine with what is before them, so each begins a segment that is normalized alone.
    """
    for match in _SEGMENT.finditer(text):
        old = match.group()
        if old:
            new = unicodedata.normalize(form, old)
            yield from [(1, character) for character in new] if len(new) == len(old) else [(len(old), new)]


def words_of(text: str) -> list[tuple[int, int]]:
    """Return the span of each word of `str.split`."""
    return [match.span() for match in _WORD.finditer(text)]


_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Matches:
    """Pretokenizer: the matches of a pattern of Python's `re` are the pretokens; other text is dropped."""

    pattern: str

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token."""
        find = re.compile(self.pattern, re.DOTALL).finditer
        text.cut(lambda part: [match.span() for match in find(part)])


@dataclass(frozen=True, slots=True)
class Steps:
    """Pretokenizer: components one after another, normalizers among them.

    The classes in Python look for added tokens before anything changes the text; so normalizers run here, and not where
    a definition has its normalizer, before added tokens with `normalized` are found.
    """

    steps: Sequence[Any]

    def pretokenize(self, text: AlignedText) -> None:
        """Run the steps."""
        for step in self.steps:
            (step.pretokenize if hasattr(step, "pretokenize") else step.normalize)(text)
