"""Finds the matches of a pattern as tokenizers does, for normalizers and decoders."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokkit.checks import is_text
from tokkit.errors import OptionError, PatternError
from tokkit.unicode_regex import cost_limits
from tokkit.unicode_regex.versions import NAMED, as_of_version, pinned

if TYPE_CHECKING:
    import regex

# One character or class, optionally repeated: the time is linear, and the time limit would make it ten times slower.
_LINEAR = re.compile(
    r"(?:\\[pP]\{\w+\}|\\[^pP]|\[\^?[^\[\]\\&~|-]+\]|[^\\\[\](){}|*+?.^$])(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})?",
    re.DOTALL,
)


# An escape, the name of a POSIX class, the start of a class (a bracket right after it is a member), or any character.
_END_PARTS = re.compile(r"\\.|\[:\^?\w+:\]|\[\^?\]?|.|\\", re.DOTALL)


def end_only(pattern: str) -> str:
    r"""Return the pattern with `\Z` for each `$`: only the end of the text, as in tiktoken, not before a last newline.

    With (?m), `$` is the end of a line, and is not replaced.

    >>> end_only(r"\s+$|[$]|\$")
    '\\s+\\Z|[$]|\\$'
    """
    if re.search(r"\(\?[A-Za-z0-9]*m", pattern):
        return pattern
    nested = re.search(r"\(\?[A-Za-z0-9]*V1", pattern)
    parts, depth = [], 0
    for part in _END_PARTS.findall(pattern):
        if part[0] == "[" and (not depth or nested) and part[1:2] != ":":
            depth += 1
        elif part in ("]", "[]", "[^]") and depth:
            depth -= 1
        parts.append(r"\Z" if part == "$" and not depth else part)
    return "".join(parts)


@functools.lru_cache(maxsize=256)
def runnable(pattern: str) -> str:
    r"""Return a pattern as the `regex` package runs it; PatternError if it has none of the same meaning.

    >>> runnable(r"(?oniguruma)(\h)\1"), runnable(r"a$")
    ('([0-9A-Fa-f])(?:\\1)', 'a\\Z')
    """
    from tokkit.unicode_regex import dialects, syntax, tree, writing

    if dialects.of(pattern)[0] is dialects.REGEX:
        return end_only(pattern)
    try:
        found = syntax.parse(pattern)
        if reason := tree.why_not_alike(found):
            raise tree.NotRegular(reason)
        text = writing.written(found, dialects.REGEX)
        named = not NAMED.search(text) or pinned(text)
        return text if named else writing.written(found, dialects.REGEX, names=False)
    except tree.NotRegular as error:
        raise PatternError(f"the pattern {cost_limits.quoted(pattern)} is not supported: {error}") from None


@functools.lru_cache(maxsize=256)
def _may_be_empty(pattern: str) -> bool:
    from tokkit.unicode_regex import syntax, tree

    if _LINEAR.fullmatch(pattern):
        return pattern[-1] in "*?}"
    try:
        return tree.nullable(syntax.parse(pattern))
    except tree.NotRegular:
        return True


def check_version(pattern: str) -> None:
    r"""Raise PatternError for a pattern that `regex` cannot run by Unicode 16.0, which Oniguruma uses.

    >>> check_version(r"\p{L}+")
    """
    text = runnable(pattern)
    if NAMED.search(text) and not pinned(text):
        raise PatternError(
            f"the pattern {pattern!r} has named sets and characters that are newer than Unicode 16.0; such a mixture "
            "runs only in tokenizers"
        )


@functools.lru_cache(maxsize=64)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern; PatternError if `regex` refuses it."""
    import regex

    text = runnable(pattern)
    cost_limits.check_size(text)
    try:
        return regex.compile(text)
    except (regex.error, ValueError) as error:  # ValueError: flags that exclude each other
        raise PatternError(f"the pattern {pattern!r} does not compile: {error}") from None
    except RecursionError:
        raise PatternError(f"the pattern {cost_limits.quoted(pattern)} is nested too deep") from None


def checked_pattern(given: object) -> dict[str, str]:
    """Check {"String": text} or {"Regex": pattern} and return it; OptionError or PatternError if it is invalid."""
    kinds = list(given) if isinstance(given, Mapping) else []
    if not isinstance(given, Mapping) or kinds not in (["String"], ["Regex"]):
        raise OptionError(f'pattern is {given!r}; it must be {{"String": text}} or {{"Regex": pattern}}')
    kind, text = kinds[0], given[kinds[0]]
    if not is_text(text):
        raise OptionError(f"{kind} is {text!r}; it must be text")
    if kind == "Regex":
        compiled(text)
        check_version(text)
    return {kind: text}


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each match, in characters; PatternError if finding them takes too long.

    Empty matches count, but not right after another match: the search continues at the next character, as in
    tokenizers and tiktoken.

    >>> matches("a*", "baac"), matches("|a", "ba")
    ([(0, 0), (1, 3), (4, 4)], [(0, 0), (1, 1), (2, 2)])
    """
    found_by = compiled(pattern)
    text = as_of_version(runnable(pattern), text)
    watched = not _LINEAR.fullmatch(pattern)
    with cost_limits.MatchTimer(pattern, len(text)) as running:
        if not _may_be_empty(pattern):
            timeout = running.remaining() if watched else None
            return [match.span() for match in found_by.finditer(text, timeout=timeout)]
        found: list[tuple[int, int]] = []
        at, last = 0, -1
        while at <= len(text):
            match = found_by.search(text, at, timeout=running.remaining() if watched else None)
            if match is None:
                break
            start, end = match.span()
            if start == end == last:
                at = end + 1
                continue
            found.append((start, end))
            at = last = end
    return found
