"""A chat's text and where it comes from in, its parts out: what the template wrote, and what it was given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A chat as text. Spans are (start, end) in its characters, in their order.

    `special` are the special tokens that the template wrote. `from_data` are texts of special tokens that came
    out of messages, tools or other data, wholly or in part, and that are ordinary text (where part of one is the
    template's, it may hold another that is special). `generated` are what `{% generation %}` blocks wrote.
    `traced` is False where the template looked into the data, so that the data could not be followed through it:
    then only what stands in the template itself is special.
    """

    text: str
    special: tuple[Span, ...] = ()
    from_data: tuple[Span, ...] = ()
    generated: tuple[Span, ...] = ()
    traced: bool = True

    @property
    def parts(self) -> list[tuple[str, bool]]:
        """The text in parts: (text, True) is to be read with special tokens, (text, False) without.

        Parts end beside special tokens only, so that no merge of ordinary text is cut: where a text has no special
        token out of data, it is one part.
        """
        if not self.from_data:
            return [(self.text, True)] if self.text else []
        found, at = [], 0
        for start, end in self.special:
            found += [(self.text[at:start], False), (self.text[start:end], True)]
            at = end
        found.append((self.text[at:], False))
        return [(text, is_template) for text, is_template in found if text]


def matches(text: str, tokens: Iterable[str], allowed: Iterable[bool] | None = None) -> list[Span]:
    """Return where special tokens stand: leftmost, then longest; of characters that are all allowed, if given."""
    longest = sorted((token for token in tokens if token), key=len, reverse=True)
    if not longest:
        return []
    if allowed is None:
        pattern = re.compile("|".join(map(re.escape, longest)))
        return [match.span() for match in pattern.finditer(text)]
    # A character that is not allowed stands in no token: the others are runs of their own.
    found = []
    runs = re.finditer("1+", "".join("1" if ok else "0" for ok in allowed))
    for run in runs:
        found += [(a + run.start(), b + run.start()) for a, b in matches(text[slice(*run.span())], longest)]
    return found
