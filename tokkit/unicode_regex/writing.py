r"""Writes a tree as a pattern of a dialect: for the `regex` package, and for files of other libraries.

Sets of characters are written as general categories and ranges, with no flags, so that all engines of the same version
of Unicode read them alike; `written` checks that the text has the same tree.
"""

from __future__ import annotations

import functools

from tokkit.errors import PatternError
from tokkit.unicode_regex import code_points, dialects, syntax, tree
from tokkit.unicode_regex.code_points import ALL, CodePoints
from tokkit.unicode_regex.dialects import Dialect
from tokkit.unicode_regex.tree import (
    Alt,
    Atomic,
    BackReference,
    Chars,
    Concat,
    Group,
    Look,
    LookAround,
    LookBehind,
    Node,
    NotRegular,
    Repeat,
)

_CATEGORIES = ("L", "N", "M", "P", "S", "Z", "C", *code_points.CATEGORIES)
_RANGES_AT_MOST = 12
"""Sets of more ranges are written with categories where that is shorter."""
_SURROGATES = (0xD800, 0xDFFF)
_INSTEAD = {
    "cluster": r"write \P{M}\p{M}* for a character with its marks",
    "line end of any kind": "write the line ends out",
    "place in the text": "each match is searched from the end of the last one: leave it out",
    "repeat of what looks around": "leave the repeat out",
    "repeated repeat": "put the part with the first repeat into (?:...)",
    "group of this kind": "groups are (?:, (?>, (?=, (?!, (?<=, (?<!, (?flags: and those with a name",
    "range to a name": "write the hyphen first or last, or escape it",
    "hyphen after": "write the hyphen first or last, or escape it",
    "without end": "escape a bracket that is a character",
    "parenthesis": "escape a parenthesis that is a character",
    "nothing to repeat": "escape a sign that is a character",
}
"""Part of a reason → what to write instead."""
_SIGNS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


@functools.lru_cache(maxsize=256)
def in_dialect(pattern: str, target: Dialect) -> str:
    r"""Return the text of a pattern in another dialect; NotRegular if none of the same meaning is known.

    >>> in_dialect(r"(?oniguruma)\h+", dialects.REGEX)
    '[0-9A-Fa-f]+'
    """
    own, text = dialects.of(pattern)
    if own is target:
        return text
    found = syntax.parse(pattern)
    if reason := tree.why_not_alike(found):
        raise NotRegular(reason)
    try:
        if syntax.parse(text, dialect=target) == found:
            return text
    except NotRegular:
        pass
    return written(found, target)


def written(node: Node, target: Dialect, *, names: bool = True) -> str:
    """Return a tree as text of a dialect; NotRegular if the dialect has no such pattern."""
    text = _Writer(target, names).alternation(node)
    if _readable(text, target) and syntax.parse(text, dialect=target) != node:
        raise NotRegular(f"{target} has no pattern of this meaning")
    return text


def canonical(pattern: str) -> str:
    r"""Return the same text for patterns with the same tree, whatever their dialects are.

    >>> canonical(r"(?oniguruma)\h") == canonical(r"(?fancy_regex)\h") == "[0-9A-Fa-f]"
    True
    """
    try:
        return written(syntax.parse(pattern), dialects.REGEX)
    except NotRegular:
        return pattern


def _readable(text: str, target: Dialect) -> bool:
    """Return whether the parser reads all that is written for a dialect; of `regex`, it does not know everything."""
    try:
        syntax.parse(text, dialect=target)
    except tree.UnknownSyntax:
        if target is not dialects.REGEX:
            raise
        return False
    return True


def adopted(text: str, dialect: Dialect) -> str:
    r"""Return a pattern of another dialect as definitions have it: with its mark, unless `regex` reads it alike.

    A text with a mark is one already. PatternError names what is not supported, and its place.

    >>> adopted(r"\p{L}+", dialects.ONIGURUMA), adopted(r"\h+", dialects.ONIGURUMA)
    ('\\p{L}+', '(?oniguruma)\\h+')
    """
    if dialects.of(text)[0] is not dialects.REGEX:
        dialect, text = dialects.of(text)
    try:
        found = syntax.parse(text, dialect=dialect)
    except tree.UnknownSyntax as error:
        seen = f"{error.reason}: {error.text!r}" if error.text else error.reason
        hint = next((f"; {hint}" for part, hint in _INSTEAD.items() if part in error.reason), "")
        raise PatternError(
            f"pattern, at {error.at}: {seen} is not supported in the syntax of {dialect}{hint}"
        ) from None
    except NotRegular as error:
        raise PatternError(f"the pattern {text!r} is not supported in the syntax of {dialect}: {error}") from None
    try:
        alike = not tree.why_not_alike(found) and not tree.has_empty_class(found)
        if alike and syntax.parse(text, dialect=dialects.REGEX) == found:
            return text
    except NotRegular:
        pass
    return dialects.mark(dialect) + text


class _Writer:
    def __init__(self, target: Dialect, names: bool) -> None:
        self.target, self.names = target, names

    def alternation(self, node: Node) -> str:
        return "|".join(map(self.sequence, node.options)) if isinstance(node, Alt) else self.sequence(node)

    def sequence(self, node: Node) -> str:
        return "".join(map(self.part, node.parts)) if isinstance(node, Concat) else self.part(node)

    def part(self, node: Node) -> str:
        """Return a node that others may follow."""
        if isinstance(node, (Alt, Concat)):
            return f"(?:{self.alternation(node)})"
        if isinstance(node, Chars):
            return self.chars(node.points)
        if isinstance(node, Repeat):
            return self.repeat(node)
        if isinstance(node, Atomic):
            return f"(?>{self.alternation(node.node)})"
        if isinstance(node, Look):
            return self.look(node)
        if isinstance(node, LookBehind):
            return self.behind(node)
        if isinstance(node, LookAround):
            return f"(?{'<' * node.behind}{'!' if node.negative else '='}{self.alternation(node.node)})"
        if isinstance(node, Group):
            return f"({self.alternation(node.node)})"
        if isinstance(node, BackReference):
            return rf"(?:\{node.number})"
        return r"\K"

    def look(self, node: Look) -> str:
        return f"(?!{self.chars(~node.points)})" if node.end else f"(?={self.chars(node.points)})"

    def behind(self, node: LookBehind) -> str:
        return f"(?<!{self.chars(~node.points)})" if node.start else f"(?<={self.chars(node.points)})"

    def repeat(self, node: Repeat) -> str:
        inner = self.part(node.node) if isinstance(node.node, Chars) else f"(?:{self.alternation(node.node)})"
        upto = "" if node.minimum == node.maximum else f",{'' if node.maximum is None else node.maximum}"
        sign = _SIGNS.get((node.minimum, node.maximum)) or f"{{{node.minimum}{upto}}}"
        if node.kind == "possessive":
            return f"{inner}{sign}+" if sign[0] in self.target.possessive else f"(?>{inner}{sign})"
        return inner + sign + "?" * (node.kind == "lazy")

    def chars(self, points: CodePoints) -> str:
        if points == ALL:
            return r"[\s\S]"
        if not points.bounds.size:
            return f"[^{self.code(0)}-{self.code(0x10FFFF)}]"  # `regex` takes [^\s\S] for any character
        if len(points.bounds) == 2 and points.bounds[1] == points.bounds[0] + 1:
            return self.code(int(points.bounds[0]))
        inside, outside = self.members(points), self.members(~points)
        if inside and len(inside) <= len(outside):
            return f"[{inside}]"
        # `regex` takes [^a]|[^b] for [^ab], but not [^aa]|[^bb].
        alone = self.target is dialects.REGEX and len((~points).bounds) == 2 and "-" not in outside[1:]
        return f"[^{2 * outside if alone else outside}]"

    def members(self, points: CodePoints) -> str:
        parts: list[str] = []
        if self.names and len(points.bounds) > 2 * _RANGES_AT_MOST:
            rest = points
            for name in _CATEGORIES:
                found = code_points.category(name)
                if not (found - points).bounds.size and (found & rest).bounds.size:
                    parts.append(rf"\p{{{name}}}")
                    rest = rest - found
            points = rest
        bounds = points.bounds.tolist()
        for first, end in zip(bounds[::2], bounds[1::2], strict=True):
            last = end - 1
            if _SURROGATES[0] <= first <= _SURROGATES[1]:
                first = _SURROGATES[1] + 1
            if _SURROGATES[0] <= last <= _SURROGATES[1]:
                last = _SURROGATES[0] - 1
            if first <= last:
                parts.append(self.code(first) + (f"-{self.code(last)}" if last > first else ""))
        return "".join(parts)

    def code(self, code: int) -> str:
        c = chr(code)
        if c.isascii() and (c.isalnum() or c == " "):
            return c
        if 0x20 < code < 0x7F:
            return "\\" + c if c not in '<>"' else c
        if self.target is dialects.REGEX:
            return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
        return f"\\x{{{code:x}}}"
