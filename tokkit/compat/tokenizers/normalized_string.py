"""`NormalizedString`: a text aligned with its original, which components in Python change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tokkit._core.align import AlignedText
from tokkit.compat.tokenizers import values
from tokkit.compat.tokenizers.component import pattern as pattern_of
from tokkit.errors import TokkitError
from tokkit.formats import split_patterns
from tokkit.formats.split_patterns import ONIGURUMA

Span = tuple[int, int]
BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")


class NormalizedString:
    """A text in its current form; each character is aligned with the characters of the original it comes from.

    >>> text = NormalizedString("Hey there")
    >>> text.replace("there", "you"), text.uppercase()
    (None, None)
    >>> text
    NormalizedString(original="Hey there", normalized="HEY YOU")
    """

    __slots__ = ("_at", "_lent", "_original", "_spans", "_text")

    def __init__(self, sequence: str) -> None:
        self._original = self._text = values.text("sequence", sequence)
        self._spans: list[Span] = [(i, i + 1) for i in range(len(sequence))]
        self._at = 0  # start of this part in the original text, in characters
        self._lent: list[bool] | None = None

    @classmethod
    def part(cls, original: str, text: str, spans: list[Span], at: int) -> NormalizedString:
        """Return a part of a text that begins at character `at` of it."""
        made = cls.__new__(cls)
        made._original, made._text, made._spans, made._at, made._lent = original, text, spans, at, None
        return made

    @contextlib.contextmanager
    def lent(self) -> Iterator[NormalizedString]:
        """Lend the text to a component, which must not use it afterwards."""
        other = NormalizedString.part(self._original, self._text, list(self._spans), self._at)
        other._lent = [True]
        try:
            yield other
            self._text, self._spans = other._text, other._spans
        finally:
            other._lent[0] = False

    def _check(self) -> None:
        if self._lent is not None and not self._lent[0]:
            raise TokkitError("Cannot use a NormalizedStringRefMut outside `normalize`: the text was lent for the call")

    @property
    def original(self) -> str:
        """The original text, or the part of it from which this one comes."""
        self._check()
        return self._original

    @property
    def normalized(self) -> str:
        """The text in its current form."""
        self._check()
        return self._text

    def __len__(self) -> int:
        return len(self._text)

    def __str__(self) -> str:
        return self.normalized

    def __repr__(self) -> str:
        return f'NormalizedString(original="{self.original}", normalized="{self._text}")'

    # ---- changes

    def _set(self, characters: list[tuple[str, Span]]) -> None:
        self._text, self._spans = "".join(c for c, _ in characters), [span for _, span in characters]

    def run(self, normalizer: Any) -> None:
        """Change the text with a normalizer of tokkit."""
        self._check()
        aligned = AlignedText(self._text)
        normalizer.normalize(aligned)
        parts = self.parts_of(aligned)
        self._text, self._spans = "".join(text for text, _ in parts), [span for _, spans in parts for span in spans]

    def parts_of(self, aligned: AlignedText) -> list[tuple[str, list[Span]]]:
        """Return the parts of the text after a component; each character has its span in the original."""
        utf8, starts = self._text.encode(), np.cumsum([0, *(len(c.encode()) for c in self._text)])
        spans = aligned.spans().astype(np.int64)
        made = []
        for text, (at, _) in zip(aligned.pieces, aligned.bounds.tolist(), strict=True):
            found: list[Span] = []
            for c in text:
                n = len(c.encode())
                start, end = min(int(spans[at, 0]), len(utf8)), int(spans[at + n - 1, 1])
                first = int(np.searchsorted(starts, start, side="right")) - 1
                last = int(np.searchsorted(starts, end, side="left"))
                found.append(self.origin(first, last))
                at += n
            made.append((text, found))
        return made

    def origin(self, first: int, end: int) -> Span:
        """Return the span in the original of a range of characters."""
        if first < end <= len(self._spans):
            return self._spans[first][0], self._spans[end - 1][1]
        place = self._spans[first - 1][1] if 0 < first <= len(self._spans) else 0
        return place, place

    def _component(self, module: str, name: str, *args: Any) -> None:
        import importlib

        self.run(getattr(importlib.import_module(f"tokkit.normalizers.{module}"), name)(*args))

    def nfc(self) -> None:
        """Change to NFC."""
        self._component("unicode", "NFC")

    def nfd(self) -> None:
        """Change to NFD."""
        self._component("unicode", "NFD")

    def nfkc(self) -> None:
        """Change to NFKC."""
        self._component("unicode", "NFKC")

    def nfkd(self) -> None:
        """Change to NFKD."""
        self._component("unicode", "NFKD")

    def lowercase(self) -> None:
        """Convert to lower case."""
        self._component("lowercase", "Lowercase")

    def uppercase(self) -> None:
        """Convert to upper case."""
        self._check()
        self._set([(u, span) for c, span in zip(self._text, self._spans, strict=True) for u in c.upper()])

    def strip(self) -> None:
        """Drop white space at both ends."""
        self._component("strip", "Strip", True, True)

    def lstrip(self) -> None:
        """Drop white space at the start."""
        self._component("strip", "Strip", True, False)

    def rstrip(self) -> None:
        """Drop white space at the end."""
        self._component("strip", "Strip", False, True)

    def prepend(self, s: str) -> None:
        """Put a text before this one; it is aligned with the first character."""
        self._insert(values.text("s", s), 0)

    def append(self, s: str) -> None:
        """Put a text after this one; it is aligned with the last character."""
        self._insert(values.text("s", s), len(self._text))

    def _insert(self, s: str, at: int) -> None:
        self._check()
        if self._text:
            spans = [self._spans[min(at, len(self._spans) - 1)]] * len(s)
            self._text = self._text[:at] + s + self._text[at:]
            self._spans = self._spans[:at] + spans + self._spans[at:]

    def replace(self, pattern: Any, content: str) -> None:
        """Replace each match of a str or a Regex."""
        self._component("replace", "Replace", readable(pattern), values.text("content", content))

    def clear(self) -> None:
        """Drop the whole text."""
        self._check()
        self._set([])

    def filter(self, func: Callable[[str], bool]) -> None:
        """Keep the characters for which a function returns True."""
        self._check()
        _callable("filter", func, "bool")
        pairs = zip(self._text, self._spans, strict=True)
        self._set([(c, span) for c, span in pairs if values.flag("the result of the function", func(c))])

    def map(self, func: Callable[[str], str]) -> None:
        """Replace each character by what a function returns for it."""
        self._check()
        _callable("map", func, "str")
        self._set(
            [
                (values.character("the result of the function", func(c)), span)
                for c, span in zip(self._text, self._spans, strict=True)
            ]
        )

    def for_each(self, func: Callable[[str], Any]) -> None:
        """Call a function with each character."""
        self._check()
        _callable("for_each", func, "None")
        for c in self._text:
            func(c)

    # ---- parts

    def slice(self, range: int | Span | slice) -> NormalizedString | None:
        """Return the part for an index, a pair or a slice of characters; None if it is out of range."""
        self._check()
        n = len(self._text)
        if isinstance(range, slice):
            start, end, _ = range.indices(n)
        elif isinstance(range, tuple) and len(range) == 2:
            start, end = (values.unsigned("range", i) for i in range)
        else:
            try:
                start = range.__index__()
            except AttributeError:
                raise values.wrong_type("range", range, "an int, a pair of ints or a slice") from None
            start, end = (start + n if start < 0 else start), (start + n if start < 0 else start) + 1
            if start >= n:
                return None
        end = min(end, n) if end >= start else n
        return self.between(start, end) if start <= n else None

    __getitem__ = slice

    def between(self, start: int, end: int) -> NormalizedString:
        """Return the part from character `start` to `end`."""
        return self.of_spans(self._text[start:end], self._spans[start:end], self.origin(start, end))

    def of_spans(self, text: str, spans: list[Span], whole: Span | None = None) -> NormalizedString:
        """Return a part with this text, aligned by the spans of its characters in the original."""
        if spans:
            whole = spans[0][0], max(end for _, end in spans)
        first, end = whole or (0, 0)
        shifted = [(max(0, a - first), max(0, b - first)) for a, b in spans]
        return NormalizedString.part(self._original[first:end], text, shifted, self._at + first)

    def split(self, pattern: Any, behavior: str) -> list[NormalizedString]:
        """Split at the matches of a str or a Regex, and return the parts."""
        from tokkit.pretokenizers.split import Split

        self._check()
        kept = values.camel(values.choice("behavior", behavior, BEHAVIORS))
        aligned = AlignedText(self._text)
        Split(readable(pattern), kept).pretokenize(aligned)
        return [self.of_spans(text, spans) for text, spans in self.parts_of(aligned) if text]

    @property
    def offsets(self) -> Span:
        """The span of this part in the original text, in characters."""
        if not self._spans:
            return self._at, self._at
        return self._at + self._spans[0][0], self._at + max(end for _, end in self._spans)

    @property
    def spans(self) -> list[Span]:
        """The span of each character in the original."""
        return self._spans

    @property
    def at(self) -> int:
        """The start of this part in the original text, in characters."""
        return self._at


def readable(pattern: Any) -> dict[str, str]:
    """Return a str or a Regex in the form of tokkit's components."""
    found = pattern_of("pattern", pattern)
    return {"Regex": split_patterns.read(found["Regex"], ONIGURUMA)} if "Regex" in found else found


def _callable(name: str, func: object, returns: str) -> None:
    if not callable(func):
        raise values.wrong_type(f"the argument of {name}", func, f"a function of a character that returns {returns}")
