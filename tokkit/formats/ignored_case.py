r"""Rewrites a split pattern with (?i:...) without it, because engines fold case by different rules.

In Oniguruma, which tokenizers runs, "i" and "I" match only each other, in `regex` also İ or ı; \p{Lu} outside of a
class is folded in `regex` only. Everything else that is accepted folds in the same way: ASCII letters, K (Kelvin sign)
with k, and ſ with s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

ONIGURUMA = {"k": "\u212a", "K": "\u212a", "s": "\u017f", "S": "\u017f"}
"""Letter → other characters that it folds with, besides its other case."""
REGEX = {**ONIGURUMA, "i": "\u0130", "I": "\u0131"}
# Characters that fold to several: Oniguruma matches ß with (?i:ss), `regex` does not.
_FOLDS = ("ff", "fi", "fl", "ss", "st")
_ESCAPES = {"r": "\r", "n": "\n", "t": "\t", "f": "\f"}

Refusal = Callable[[int, str], Exception]
"""Makes an error from a position in the pattern and a reason."""


def spelt_out(
    pattern: str, atom: re.Pattern[str], member: re.Pattern[str], thirds: Mapping[str, str], refusal: Refusal
) -> str:
    """Return a pattern, whose atoms oniguruma.py has checked, without (?i:...) where engines differ."""
    if "(?i:" not in pattern:
        return pattern
    made, folds, at, before, differs = [], [False], 0, "", False
    while at < len(pattern):
        match = atom.match(pattern, at)
        if match is None:
            raise refusal(at, "no part of a pattern")
        kind, text, start = match.lastgroup, match.group(), at
        at = match.end()
        if kind == "open":
            folds.append(folds[-1] or text == "(?i")
            if text == "(?i":
                text, at = "(?:", at + 1
        elif kind == "close":
            folds.pop()
        elif kind == "class":
            at, members, named = _members(pattern, at, member)
            text = pattern[start:at]
            if folds[-1]:
                if named:
                    raise refusal(start, "\\p{...} in a class that ignores case is folded in several ways")
                if any(not (first + last).isascii() for first, last in members):
                    raise refusal(start, _BEYOND)
                text, both = _class(text.startswith("[^"), members, thirds)
                differs |= both
                before = members[0][0] if len(members) == 1 else ""
        elif folds[-1] and kind == "set":
            differs |= text[:2] in ("\\p", "\\P")
            if text[:2] in ("\\p", "\\P") and thirds is REGEX:
                raise refusal(start, "\\p{...} that ignores case is folded in several ways")
        elif folds[-1] and kind == "one":
            c = _decoded(text)
            if not c.isascii():
                raise refusal(start, _BEYOND)
            if (before + c).lower() in _FOLDS:
                raise refusal(start, "ff, fi, fl, ss or st, where case is ignored, is also one character (ß, ﬁ)")
            if c.isalpha():
                text, differs = "[" + _cases(c, thirds) + "]", differs or c in "iI"
            before = c
        if kind in ("or", "repeat", "set"):
            before = ""
        made.append(text)
    return "".join(made) if differs else pattern


_BEYOND = "a letter beyond ASCII, where case is ignored, is folded in several ways"


def _decoded(text: str) -> str:
    """Return the character for which an atom stands."""
    if text[0] != "\\":
        return text
    return chr(int(text[2:], 16)) if text[1] in "xu" and len(text) > 2 else _ESCAPES.get(text[1], text[1])


def _cases(c: str, thirds: Mapping[str, str]) -> str:
    return "".join(dict.fromkeys((c, c.lower(), c.upper(), thirds.get(c, c))))


def _members(pattern: str, at: int, member: re.Pattern[str]) -> tuple[int, list[tuple[str, str]], bool]:
    """Return the end of a class, its members as (first, last) and (escape, ""), and whether it names properties."""
    found: list[tuple[str, str]] = []
    named, start = False, at
    while not pattern.startswith("]", at) or at == start:
        match = member.match(pattern, at)
        if match is None:  # a hyphen at either end
            found.append(("-", "-"))
            at += 1
            continue
        at = match.end()
        if match["set"]:
            named |= match["set"][1] in "pP"
            found.append((match["set"], ""))
            continue
        first = last = _decoded(match.group())
        ranges = pattern.startswith("-", at) and not pattern.startswith("]", at + 1)
        if ranges and (match := member.match(pattern, at + 1)) is not None:
            last, at = _decoded(match.group()), match.end()
        found.append((first, last))
    return at + 1, found, named


def _class(negative: bool, members: list[tuple[str, str]], thirds: Mapping[str, str]) -> tuple[str, bool]:
    """Return the text of a class with all case variants of its members, and whether "i" is among them."""
    made, letters = [], ""
    for first, last in members:
        if not last:
            made.append(first)
            continue
        made.append(_spelt(first) + ("-" + _spelt(last) if last != first else ""))
        letters += "".join(chr(c) for c in range(ord(first), ord(last) + 1) if chr(c).isalpha())
    folded = dict.fromkeys("".join(_cases(c, thirds) for c in letters))
    return "[" + "^" * negative + "".join(made) + "".join(folded) + "]", any(c in "iI" for c in letters)


def _spelt(c: str) -> str:
    return c if c.isalnum() or c in " _" else f"\\x{ord(c):02x}"
