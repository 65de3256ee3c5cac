"""Text in, the same with each match of a pattern replaced out."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.errors import OptionError, PatternError
from tokkit.normalizers.base import Normalizer, check_text

if TYPE_CHECKING:
    import regex

SECONDS_PER_MEGABYTE = 20.0
"""How long a pattern may take, as for patterns that split; at least two seconds a piece."""

# One character or class, once or repeated: such a pattern takes time in proportion, and being watched would make it
# ten times as slow.
_LINEAR = re.compile(
    r"(?:\\[pP]\{\w+\}|\\[^pP]|\[\^?[^\[\]\\&~|-]+\]|[^\\\[\](){}|*+?.^$])(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})?",
    re.DOTALL,
)

# One character that means itself, as often as it stands there: nothing that needs a regular expression.
_RUN = re.compile(r"(\\[!-/:-@\[-`{-~]|[^\\\[\](){}|*+?.^$])(?:\+|\{([1-9]\d{0,3}),\})", re.DOTALL)


@functools.lru_cache(maxsize=64)
def _compile(pattern: str) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise PatternError(f"the pattern {pattern!r} does not compile: {error}") from None


@dataclass(frozen=True, slots=True)
class Replace(Normalizer):
    """Puts `content`, as it stands, for each match of `pattern`: {"String": text} or {"Regex": pattern}.

    A pattern is in syntax that Oniguruma and the `regex` package read alike (formats/oniguruma.py checks files).
    What is put in comes from where the last character of the match comes from.

    >>> Replace({"Regex": " {2,}"}, "▁").normalize_str("a  b c")
    'a▁b c'
    """

    pattern: Mapping[str, str] = field(hash=False)
    content: str

    def __post_init__(self) -> None:
        check_text("content", self.content)
        kinds = list(self.pattern) if isinstance(self.pattern, Mapping) else []
        if kinds not in (["String"], ["Regex"]):
            raise OptionError(f'pattern is {{"String": text}} or {{"Regex": pattern}}, not {self.pattern!r}')
        object.__setattr__(self, "pattern", dict(self.pattern))
        check_text(kinds[0], self.pattern[kinds[0]])
        if kinds == ["Regex"]:
            _compile(self.pattern["Regex"])

    def normalize(self, text: AlignedText) -> None:
        """Replace the matches in each piece; PatternError where finding them takes too long."""
        content = self.content.encode()
        if self.pattern.get("String"):
            normalize.replace(text, self.pattern["String"].encode(), content)
        elif run := _RUN.fullmatch(self.pattern.get("Regex", "")):
            normalize.replace(text, run[1][-1].encode(), content, int(run[2] or 1))
        else:
            normalize.replace_matches(text, self._matches, content)

    def _matches(self, piece: str) -> list[tuple[int, int]]:
        pattern = self.pattern.get("Regex", "")
        compiled = _compile(pattern)
        limit = 2.0 + SECONDS_PER_MEGABYTE * len(piece) / 1e6
        timeout = None if _LINEAR.fullmatch(pattern) else limit
        found: list[tuple[int, int]] = []
        at, last = 0, -1
        try:
            for match in compiled.finditer(piece, timeout=timeout):
                if match.start() == match.end():
                    break
                found.append(match.span())
                at = last = match.end()
            else:
                return found
            # Oniguruma goes on from where it matched, and takes no empty match there; finditer has other rules.
            while at <= len(piece) and (match := compiled.search(piece, at, timeout=timeout)):
                start, end = match.span()
                if start == end == last:
                    at = end + 1
                    continue
                found.append((start, end))
                at = last = end
        except TimeoutError:
            raise PatternError(f"{pattern!r} took over {limit:.0f} s on {len(piece)} characters") from None
        return found
