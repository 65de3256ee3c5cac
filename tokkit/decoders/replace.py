"""Decoder that replaces each match of a pattern in a token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tokkit import limits
from tokkit.decoders.base import Decoder, check_replaced, check_text, replace_each
from tokkit.unicode_regex.cost_limits import PatternTime
from tokkit.unicode_regex.matching import checked_pattern, matches


@dataclass(frozen=True, slots=True)
class Replace(Decoder):
    """Replaces each match of `pattern`, {"String": text} or {"Regex": pattern}, with `content`, taken literally.

    A pattern has the syntax of the `regex` package; one of a tokenizer.json has a mark (unicode_regex/dialects.py).

    >>> Replace({"String": "▁"}, " ").decode(["▁a", "▁b"])
    ' a b'
    """

    pattern: Mapping[str, str] = field(hash=False)
    content: str

    def __post_init__(self) -> None:
        check_text("content", self.content)
        object.__setattr__(self, "pattern", checked_pattern(self.pattern))

    @property
    def literal(self) -> str | None:
        """The literal text to replace; None for a regular expression."""
        return self.pattern.get("String")

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens with their matches replaced; PatternError if that takes too long."""
        if self.literal:
            return replace_each(tokens, self.literal, self.content)
        tokens = list(tokens)
        with PatternTime(sum(map(len, tokens))):
            return [self.replace(token) for token in tokens]

    def replace(self, text: str) -> str:
        """Return `text` with its matches replaced."""
        if not text:  # not even an empty pattern matches an empty token
            return text
        if self.literal is not None:
            check_replaced(text, self.literal, self.content)
            return text.replace(self.literal, self.content)
        parts: list[str] = []
        copied = 0
        found = matches(self.pattern["Regex"], text)
        limits.check_grown(len(text) + len(found) * len(self.content), len(text), "the decoder Replace")
        for start, end in found:
            parts += [text[copied:start], self.content]
            copied = end
        return "".join([*parts, text[copied:]])
