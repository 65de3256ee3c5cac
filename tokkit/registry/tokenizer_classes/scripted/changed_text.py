"""`ChangedText`: a text in the making, whose characters know the characters of the original text they come from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A text, and for each of its characters the first character of the original that it stands for, and the end."""

    text: str
    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, text: str) -> ChangedText:
        """Return a text without changes."""
        return cls(text, list(range(len(text))), list(range(1, len(text) + 1)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original of the characters from `start` to `end`."""
        if start < end:
            return self.starts[start], self.ends[end - 1]
        at = self.starts[start] if start < len(self.starts) else self.ends[-1] if self.ends else 0
        return at, at

    def rewritten(self, parts: Iterable[tuple[int, int, str]]) -> ChangedText:
        """Return the text that the parts (start, end, new text) make; together they must cover this text in order."""
        made: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        for start, end, new in parts:
            made.append(new)
            if end - start == len(new):
                starts += self.starts[start:end]
                ends += self.ends[start:end]
            else:
                first, last = self.span(start, end)
                starts += [first] * len(new)
                ends += [last] * len(new)
        return ChangedText("".join(made), starts, ends)

    def replaced(self, pattern: re.Pattern[str], content: Callable[[re.Match[str]], str] | str) -> ChangedText:
        """Return the text with other text for each match."""
        return self.rewritten(self._around(pattern, content))

    def _around(
        self, pattern: re.Pattern[str], content: Callable[[re.Match[str]], str] | str
    ) -> Iterable[tuple[int, int, str]]:
        at = 0
        for match in pattern.finditer(self.text):
            yield at, match.start(), self.text[at : match.start()]
            yield *match.span(), content if isinstance(content, str) else content(match)
            at = match.end()
        yield at, len(self.text), self.text[at:]

    def each(self, change: Callable[[str], str]) -> ChangedText:
        """Return the text with each character changed on its own."""
        return self.rewritten((i, i + 1, change(character)) for i, character in enumerate(self.text))

    def lowered(self) -> ChangedText:
        """Return the text in lower case, as str.lower does; the form of a sigma depends on its neighbours."""
        made = self.each(str.lower)
        return ChangedText(self.text.lower(), made.starts, made.ends)

    def composed(self) -> ChangedText:
        """Return the text in NFC."""
        if unicodedata.is_normalized("NFC", self.text):
            return self
        made = self.rewritten(_composed(self.text))
        whole = unicodedata.normalize("NFC", self.text)
        if made.text == whole:
            return made
        return self.rewritten([(0, len(self.text), whole)])

    def stripped(self) -> ChangedText:
        """Return the text without white space at its ends."""
        start, end = len(self.text) - len(self.text.lstrip()), len(self.text.rstrip())
        return self.rewritten(
            [(0, start, ""), (start, max(start, end), self.text.strip()), (max(start, end), len(self.text), "")]
        )


def _composed(text: str) -> Iterable[tuple[int, int, str]]:
    """Yield parts of a text and their NFC; a part ends before a character that composes with nothing before it."""
    start, made = 0, ""
    for i, character in enumerate(text):
        longer = unicodedata.normalize("NFC", made + character)
        if i and not unicodedata.combining(character) and longer == made + unicodedata.normalize("NFC", character):
            yield start, i, made
            start, made = i, unicodedata.normalize("NFC", character)
        else:
            made = unicodedata.normalize("NFC", text[start : i + 1])
    yield start, len(text), made


class TextRule(Protocol):
    """A change of the text between two added tokens before SentencePiece sees it. Immutable."""

    def __call__(self, text: ChangedText) -> ChangedText:
        """Return the changed text."""
