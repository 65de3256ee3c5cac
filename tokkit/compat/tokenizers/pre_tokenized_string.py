"""`PreTokenizedString` and `Token`: a text in parts, for pre-tokenizers in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tokkit._core.align import AlignedText
from tokkit.compat.tokenizers import values
from tokkit.compat.tokenizers.component import failed
from tokkit.compat.tokenizers.encoding import Encoding
from tokkit.compat.tokenizers.normalized_string import NormalizedString, Span
from tokkit.errors import OptionError, TokkitError


class Token:
    """One token: its id, its text, and its span in bytes of its part."""

    __slots__ = ("id", "offsets", "value")

    def __init__(self, id: int, value: str, offsets: Span) -> None:
        self.id = values.token_id("id", id)
        self.value = values.text("value", value)
        start, end = offsets
        self.offsets = values.unsigned("offsets[0]", start), values.unsigned("offsets[1]", end)

    def as_tuple(self) -> tuple[int, str, Span]:
        """Return (id, value, offsets)."""
        return self.id, self.value, self.offsets


class PreTokenizedString:
    """A text in parts; each is a `NormalizedString`, optionally with its tokens."""

    __slots__ = ("_original", "_parts")

    def __init__(self, s: str) -> None:
        self._original = values.text("s", s)
        self._parts: list[tuple[NormalizedString, list[Token] | None]] = [(NormalizedString(s), None)]

    @property
    def parts(self) -> list[NormalizedString]:
        """The parts, without their tokens."""
        return [part for part, _ in self._parts]

    def split(self, func: Callable[[int, NormalizedString], Sequence[NormalizedString]]) -> None:
        """Replace each part without tokens by the parts that function(number, part) returns."""
        made: list[tuple[NormalizedString, list[Token] | None]] = []
        for i, (part, tokens) in enumerate(self._parts):
            if tokens is not None:
                made.append((part, tokens))
                continue
            found = _called(func, i, part)
            if isinstance(found, str) or not isinstance(found, Sequence):
                raise TokkitError(f"TypeError: the function returns {found!r}; it must return a list")
            for one in found:
                if not isinstance(one, NormalizedString):
                    raise TokkitError(f"TypeError: the function returns {one!r}; it must be a NormalizedString")
                if len(one):
                    made.append((one, None))
        self._parts = made

    def normalize(self, func: Callable[[NormalizedString], None]) -> None:
        """Change each part without tokens with a function."""
        for part, tokens in self._parts:
            if tokens is None:
                _called(func, part)

    def tokenize(self, func: Callable[[str], Sequence[Token]]) -> None:
        """Give each part without tokens the tokens that function(text) returns."""
        self._parts = [
            (part, list(_called(func, part.normalized)) if tokens is None else tokens) for part, tokens in self._parts
        ]

    def run(self, pretokenizer: Any) -> None:
        """Split the parts with a pretokenizer of tokkit."""
        open_parts = [part for part, tokens in self._parts if tokens is None]
        whole = NormalizedString.part(
            self._original,
            "".join(part.normalized for part in open_parts),
            [(a + part.at, b + part.at) for part in open_parts for a, b in part.spans],
            0,
        )
        ends = list(itertools.accumulate((len(part) for part in open_parts), initial=0))
        aligned = AlignedText(whole.normalized)
        aligned.cut(lambda _: itertools.pairwise(ends))
        pretokenizer.pretokenize(aligned)
        found = [whole.of_spans(text, spans) for text, spans in whole.parts_of(aligned) if text]
        if len(open_parts) == len(self._parts):
            self._parts = [(part, None) for part in found]
            return
        done = [(part, tokens) for part, tokens in self._parts if tokens is not None]
        self._parts = sorted([*done, *((part, None) for part in found)], key=lambda item: item[0].offsets)

    def get_splits(
        self, offset_referential: str = "original", offset_type: str = "char"
    ) -> list[tuple[str, Span, list[Token] | None]]:
        """Return (text, span, tokens) of each part; spans refer to the original or the normalized text."""
        values.choice("offset_referential", offset_referential, ("original", "normalized"))
        values.choice("offset_type", offset_type, ("byte", "char"))
        in_original, text = offset_referential == "original", self._original
        if not in_original:
            text = "".join(part.normalized for part, _ in self._parts)
        made, at = [], 0
        for part, tokens in self._parts:
            start, end = part.offsets if in_original else (at, at + len(part))
            at += len(part)
            if offset_type == "byte":
                start, end = len(text[:start].encode()), len(text[:end].encode())
            made.append((part.normalized, (start, end), tokens))
        return made

    def to_encoding(self, type_id: int = 0, word_idx: int | None = None) -> Encoding:
        """Return the encoding of all tokens; each part is a word, or all are the word `word_idx`."""
        ids, tokens, spans, words = [], [], [], []
        for number, (part, found) in enumerate(self._parts):
            if found is None:
                raise OptionError("a part has no tokens yet; call tokenize before to_encoding")
            starts = list(itertools.accumulate((len(c.encode()) for c in part.normalized), initial=0))
            for token in found:
                first = max((i for i, at in enumerate(starts) if at <= token.offsets[0]), default=0)
                end = next((i for i, at in enumerate(starts) if at >= token.offsets[1]), len(starts) - 1)
                start, stop = part.origin(first, end)
                ids.append(token.id)
                tokens.append(token.value)
                spans.append((start + part.at, stop + part.at))
                words.append(number if word_idx is None else values.unsigned("word_idx", word_idx))
        return Encoding.of_columns(ids, tokens, spans, words, values.token_id("type_id", type_id))


def _called(func: Callable[..., Any], *args: Any) -> Any:
    try:
        return func(*args)
    except TokkitError:
        raise
    except Exception as error:
        raise failed(error) from error
