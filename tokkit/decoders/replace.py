"""Tokens in, tokens out with each match of a pattern replaced."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokkit.decoders.base import Decoder, check_text, replace_each
from tokkit.errors import OptionError, PatternError

if TYPE_CHECKING:
    import regex

SECONDS_PER_MEGABYTE = 20.0
"""How long a pattern may take, as for patterns that split; at least two seconds a token."""


@functools.lru_cache(maxsize=64)
def _compile(pattern: str) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise PatternError(f"the pattern {pattern!r} does not compile: {error}") from None


@dataclass(frozen=True, slots=True)
class Replace(Decoder):
    """Puts `content`, as it stands, for each match of `pattern`: {"String": text} or {"Regex": pattern}.

    A pattern is in syntax that Oniguruma and the `regex` package read alike (formats/oniguruma.py checks files).

    >>> Replace({"String": "▁"}, " ").decode(["▁a", "▁b"])
    ' a b'
    """

    pattern: Mapping[str, str] = field(hash=False)
    content: str

    def __post_init__(self) -> None:
        check_text("content", self.content)
        if (
            not isinstance(self.pattern, Mapping)
            or len(self.pattern) != 1
            or not {*self.pattern} <= {"String", "Regex"}
        ):
            raise OptionError(f'pattern is {{"String": text}} or {{"Regex": pattern}}, not {self.pattern!r}')
        object.__setattr__(self, "pattern", dict(self.pattern))
        for kind, text in self.pattern.items():
            check_text(kind, text)
            if kind == "Regex":
                _compile(text)

    @property
    def literal(self) -> str | None:
        """The text that is replaced; None for a regular expression."""
        return self.pattern.get("String")

    def decode_chain(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens with their matches replaced; PatternError where that takes too long."""
        if self.literal:
            return replace_each(tokens, self.literal, self.content)
        return [self.replace(token) for token in tokens]

    def replace(self, text: str) -> str:
        """Return `text` with its matches replaced."""
        if not text:  # nothing to look at, and so not even the empty pattern matches
            return text
        if self.literal is not None:
            return text.replace(self.literal, self.content)
        compiled = _compile(self.pattern["Regex"])
        timeout = 2.0 + SECONDS_PER_MEGABYTE * len(text) / 1e6
        parts: list[str] = []
        at, last = 0, -1
        copied = 0
        try:
            # Oniguruma goes on from where it matched, and takes no empty match there; re.sub has other rules.
            while at <= len(text) and (match := compiled.search(text, at, timeout=timeout)):
                start, end = match.span()
                if end == last:
                    at = end + 1
                    continue
                parts += [text[copied:start], self.content]
                copied = at = last = end
        except TimeoutError:
            raise PatternError(
                f"the pattern {self.pattern['Regex']!r} took over {timeout:.0f} s on {len(text)} characters"
            ) from None
        return "".join([*parts, text[copied:]])
