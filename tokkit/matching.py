"""A pattern and a text in, its matches out, as tokenizers finds them: what normalizers and decoders replace."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokkit.definition import is_text
from tokkit.errors import OptionError, PatternError

if TYPE_CHECKING:
    import regex

SECONDS_PER_MEGABYTE = 20.0
"""How long a pattern may take, as for patterns that split; at least two seconds a text."""

# One character or class, once or repeated: such a pattern takes time in proportion, and being watched would make it
# ten times as slow.
_LINEAR = re.compile(
    r"(?:\\[pP]\{\w+\}|\\[^pP]|\[\^?[^\[\]\\&~|-]+\]|[^\\\[\](){}|*+?.^$])(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})?",
    re.DOTALL,
)


@functools.lru_cache(maxsize=64)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern; PatternError where `regex` refuses it."""
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise PatternError(f"the pattern {pattern!r} does not compile: {error}") from None


def checked_pattern(given: object) -> dict[str, str]:
    """Return {"String": text} or {"Regex": pattern}; OptionError or PatternError for what is neither."""
    kinds = list(given) if isinstance(given, Mapping) else []
    if not isinstance(given, Mapping) or kinds not in (["String"], ["Regex"]):
        raise OptionError(f'pattern is {{"String": text}} or {{"Regex": pattern}}, not {given!r}')
    kind, text = kinds[0], given[kinds[0]]
    if not is_text(text):
        raise OptionError(f"{kind} is text, not {text!r}")
    if kind == "Regex":
        compiled(text)
    return {kind: text}


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each match of a regular expression; PatternError where finding them takes too long."""
    found_by = compiled(pattern)
    limit = 2.0 + SECONDS_PER_MEGABYTE * len(text) / 1e6
    timeout = None if _LINEAR.fullmatch(pattern) else limit
    found: list[tuple[int, int]] = []
    at, last = 0, -1
    try:
        for match in found_by.finditer(text, timeout=timeout):
            if match.start() == match.end():
                break
            found.append(match.span())
            at = last = match.end()
        else:
            return found
        # Oniguruma goes on from where it matched, and takes no empty match there; finditer has other rules.
        while at <= len(text) and (match := found_by.search(text, at, timeout=timeout)):
            start, end = match.span()
            if start == end == last:
                at = end + 1
                continue
            found.append((start, end))
            at = last = end
    except TimeoutError:
        raise PatternError(f"the pattern {pattern!r} took over {limit:.0f} s on {len(text)} characters") from None
    return found
