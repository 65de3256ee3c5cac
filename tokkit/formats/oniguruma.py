r"""Translates split patterns between Oniguruma, which tokenizers runs, and the `regex` package's syntax.

Definitions have patterns in the syntax of the `regex` package. The published patterns are known by their text in both
syntaxes. Any other pattern may only use syntax that both engines read in the same way; the rest is refused, because
Oniguruma silently gives some of it another meaning. The differences:

- Rewritten: `\A`, `\z`, `\Z`, `^` and `$` (the ends of lines), as look-ahead and look-behind.
- Refused, since the meaning differs: `\w` (without the joiners there), a repeat
  after a repeat (`{1,3}+` repeats the repetition), `{n,m}` with n > m (possessive there), `{,n}` and `{0}`, set
  operations and brackets in classes, `(?m)`, `(?s)`, (?i:...) with letters beyond ASCII, with ff, fi, fl, ss, st
  (each one character too), and with `\p{...}` in a class.
- Refused, since one of them or our automata do not have it: word boundaries, and
  look-behind for single characters and classes, which cannot be repeated, back-references, named groups, comments,
  `\h \R \X \K`, POSIX classes, `\pL`, `\p{^...}`, properties that are neither general categories nor one of the scripts
  below.
- Run as there: (?i:...) of i, I and `\p{...}` (ignored_case.py spells it out), empty matches, and what is in a named
  set: that goes by Unicode 16.0, of which `regex` has a newer version (matching.py).
"""

from __future__ import annotations

import re

from tokkit.errors import FormatError
from tokkit.formats import ignored_case
from tokkit.pretokenizers import patterns

CL100K = patterns.CL100K.replace(r"{1,3}+", r"{1,3}")
"""cl100k for Oniguruma: nothing follows \\p{N}{1,3} in its branch, so possessive makes no difference.

And after a possessive \\s++, the end of a line is the end of the text, because a line end would be white space.
"""

# Text in a file → our text of the same pattern; the first one is used for writing.
_FAMILIES = {
    CL100K: patterns.CL100K,
    patterns.O200K: patterns.O200K,
    patterns.LLAMA3: patterns.LLAMA3,
    patterns.QWEN2: patterns.QWEN2,
    patterns.QWEN3_5: patterns.QWEN3_5,
    patterns.TEKKEN: patterns.TEKKEN,
    patterns.KIMI_K2_UNMARKED: patterns.KIMI_K2,
    patterns.BYTE_LEVEL: patterns.BYTE_LEVEL,
    patterns.R50K: patterns.R50K,
}
_WRITTEN = {ours: text for text, ours in reversed(_FAMILIES.items())}

_CATEGORIES = "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co"
_SCRIPTS = (
    "Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul "
    "Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar Oriya Sinhala Tamil Telugu Thai "
    "Tibetan"
)
_PROPERTIES = "|".join((_CATEGORIES + " " + _SCRIPTS).split())

_CLASS_ESCAPE = rf"\\[dDsS]|\\[pP]\{{(?:{_PROPERTIES})\}}"
_CHARACTER_ESCAPE = r"\\[rntf]|\\x[0-7][0-9A-Fa-f]|\\u[0-9A-Fa-f]{4}|\\[!-/:-@\[-`{-~]"
_ATOM = re.compile(
    rf"(?P<set>{_CLASS_ESCAPE}|\.)|(?P<one>{_CHARACTER_ESCAPE}|[^\\\[\](){{}}|.?*+^$])|"
    r"(?P<open>\((?:\?[:=!>i]?)?)|(?P<close>\))|(?P<or>\|)|(?P<class>\[\^?)|(?P<repeat>[?*+][?+]?|\{(?:\d+|\d+,|\d+,\d+)\})",
    re.DOTALL,
)
_ONE = re.compile(rf"{_CHARACTER_ESCAPE}|[^\\\[\](){{}}|.?*+^$]", re.DOTALL)
_MEMBER = re.compile(
    rf"(?P<set>{_CLASS_ESCAPE})|(?P<one>{_CHARACTER_ESCAPE}|[^\\\[\]&~|-]|(?P<twice>[&~|])(?!(?P=twice)))", re.DOTALL
)
_START, _END = r"(?<![\s\S])", r"(?![\s\S])"
_ANCHORS = {
    r"\A": _START,
    r"\z": _END,
    r"\Z": rf"(?=\n?{_END})",
    "^": rf"(?:{_START}|(?<=\n)(?=[\s\S]))",
    "$": rf"(?:{_END}|(?=\n))",
}
"""Anchor of Oniguruma → the same place in other words. `^` and `$` are the ends of lines; the last one is not empty."""
MAX_REPEATS = 100_000
"""Maximum number of repeats; more are an error in Oniguruma."""


def from_file(pattern: str) -> str:
    """Return the pattern in `regex` syntax; FormatError for a construct that tokenizers would match differently."""
    ours = _FAMILIES.get(pattern)
    if ours is None:
        pattern = _without_anchors(pattern)
        check(pattern)
        return ignored_case.spelt_out(pattern, _ATOM, _MEMBER, ignored_case.ONIGURUMA, _refused)
    return ours


def _without_anchors(pattern: str) -> str:
    r"""Return the pattern with its anchors written as look-ahead and look-behind, which both engines read alike.

    >>> _without_anchors(r"\A +| +\z")
    '(?<![\\s\\S]) +| +(?![\\s\\S])'
    """
    parts, at = [], 0
    while at < len(pattern):
        end = at + (2 if pattern[at] == "\\" else 1)
        if pattern[at] == "[":
            end = _class_end(pattern, at + (2 if pattern.startswith("[^", at) else 1))
        parts.append(_ANCHORS.get(pattern[at:end], pattern[at:end]))
        at = end
    return "".join(parts)


def to_file(pattern: str) -> str:
    """Return the pattern in Oniguruma's syntax; FormatError if no equivalent is known."""
    text = _WRITTEN.get(pattern)
    if text is None:
        check(pattern)
        return ignored_case.spelt_out(pattern, _ATOM, _MEMBER, ignored_case.REGEX, _refused)
    return text


def check(pattern: str) -> None:
    r"""Raise FormatError for syntax that Oniguruma and the `regex` package read differently, or only one supports.

    >>> check(r"[^\s\p{L}]?\p{L}++|\s+(?!\S)")
    >>> check(r"\p{N}{1,3}+")
    Traceback (most recent call last):
        ...
    tokkit.errors.FormatError: pattern, at 10: '+' after '{1,3}' has two meanings; write (?>...{n,m})
    """
    at, repeated, groups, closed, opens = 0, "", [], "", True
    while at < len(pattern):
        if pattern.startswith(("(?<=", "(?<!"), at):
            if "(?i:" in pattern:
                raise _refusal(pattern, at)
            at, repeated, closed, opens = _behind_end(pattern, at + 4), "", "(?=", False
            continue
        match = _ATOM.match(pattern, at)
        if match is None:
            raise _refusal(pattern, at)
        kind, text = match.lastgroup, match.group()
        if text == "(?i":
            if not pattern.startswith("(?i:", at):
                raise _refusal(pattern, at)
        elif kind == "open" and text == "(?":
            raise _refusal(pattern, at)
        if kind == "repeat" and repeated:
            hint = "write (?>...{n,m})" if repeated[-1] == "}" else "one repetition is enough"
            raise FormatError(f"pattern, at {at}: {text!r} after {repeated!r} has two meanings; {hint}")
        if kind == "repeat":
            if opens or closed in ("(?=", "(?!"):
                raise _refused(
                    at, f"{text!r} repeats nothing: a look-ahead or look-behind, or the start of a group or option"
                )
            _check_repeats(at, text)
        repeated = text if kind == "repeat" else ""
        if kind == "open":
            groups.append(text)
        opens = kind in ("open", "or")
        if kind == "close" and not groups:
            raise _refused(at, "')' closes no group")
        closed = groups.pop() if kind == "close" else ""
        at = _class_end(pattern, match.end()) if kind == "class" else match.end()
        if text == "(?i":
            at += 1
    if groups:
        raise _refused(at, f"the group that {groups[-1]!r} begins is not closed")


def _check_repeats(at: int, text: str) -> None:
    minimum, _, maximum = text.strip("{}").partition(",")
    if text[0] == "{" and (max(len(minimum), len(maximum)) > 6 or max(int(minimum), int(maximum or 0)) > MAX_REPEATS):
        raise _refused(at, f"{text!r} repeats more than {MAX_REPEATS} times")
    if text in ("{0}", "{0,0}"):
        raise _refused(at, f"{text!r} repeats nothing")
    if maximum and int(maximum) < int(minimum):
        raise _refused(at, f"{text!r} has its minimum after its maximum, which Oniguruma reads as possessive")


def _refused(at: int, reason: str) -> FormatError:
    return FormatError(f"pattern, at {at}: {reason}")


def _behind_end(pattern: str, at: int) -> int:
    """Return the index after a look-behind whose text starts at `at`: characters and classes, each once."""
    start = at
    while not pattern.startswith(")", at):
        one = _ONE.match(pattern, at)
        if one is None and not pattern.startswith("[", at):
            raise _refusal(pattern, start - 4)
        at = one.end() if one else _class_end(pattern, at + 1 + pattern.startswith("^", at + 1))
    return at + 1


def _class_end(pattern: str, at: int) -> int:
    """Return the index after a character class whose members start at `at`."""
    start = at
    while not pattern.startswith("]", at) or at == start:
        first = _MEMBER.match(pattern, at)
        # A hyphen is literal only at the ends; elsewhere it must make a range of two characters.
        if first is None and pattern.startswith("-", at) and (at == start or pattern.startswith("]", at + 1)):
            at += 1
            continue
        if first is None:
            raise _refusal(pattern, at)
        at = first.end()
        if pattern.startswith("-", at) and not pattern.startswith("]", at + 1):
            last = _MEMBER.match(pattern, at + 1)
            if last is None or last["set"] or first["set"]:
                raise _refusal(pattern, at)
            at = last.end()
    return at + 1


def _refusal(pattern: str, at: int) -> FormatError:
    if pattern.startswith(("\\w", "\\W"), at):
        return FormatError(
            f"pattern, at {at}: {pattern[at : at + 2]!r} counts the joiners U+200C and U+200D as letters in the regex "
            "package, but not in Oniguruma (tokenizers); write [\\p{L}\\p{M}\\p{Nd}\\p{Pc}], with or without them"
        )
    seen = pattern[at : at + 12]
    return FormatError(
        f"pattern, at {at}: Oniguruma (tokenizers) and the regex package read {seen!r} differently; supported are "
        "groups, classes without set operations, general categories, repetitions, look-ahead, and look-behind "
        "for characters and classes"
    )
