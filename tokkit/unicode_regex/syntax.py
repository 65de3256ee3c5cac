r"""Parses the regular part of the `regex` package's syntax to a tree.

The parser is strict: anything that may have another meaning in `regex` is NotRegular, with the reason, and so are
patterns that `regex` refuses (which then gives its own error). Two decisions: `$` is the end of the text, as in
tiktoken, not also before a last newline; named sets are by Unicode 16.0 (code_points.py).
"""

from __future__ import annotations

import functools
import re

from tokkit.unicode_regex import code_points
from tokkit.unicode_regex.code_points import ALL, NOTHING, CodePoints
from tokkit.unicode_regex.tree import (
    END,
    Alt,
    Atomic,
    Chars,
    Concat,
    Look,
    Node,
    NotRegular,
    Repeat,
    look_ahead,
)

MAX_REPEATS = 1000
MAX_DEPTH = 40

_CHARACTER = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_REASONS = {
    **dict.fromkeys("bBmM", "a word boundary looks back"),
    **dict.fromkeys("AG", "a place in the text"),
    **dict.fromkeys("123456789g", "a back-reference"),
    **dict.fromkeys("KLXhN0", "rare"),
}
_REPEAT = re.compile(r"(?:[*+?]|\{(?P<minimum>\d*)(?P<comma>,(?P<maximum>\d*))?\})(?P<kind>[?+]?)")
_HEX = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}")
_PROPERTY = re.compile(r"[pP](?:\{(?P<not>\^?)(?P<name>[A-Za-z0-9_ &=:.-]+)\}|(?P<letter>[A-Z]))")
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
_GROUP = re.compile(r"\?(?:P?<[A-Za-z_][A-Za-z_0-9]*>|(?P<on>[is]*)(?:-(?P<off>[is]+))?:|(?P<kind>>|=|!))")
_GLOBAL = re.compile(r"\(\?(?P<flags>(?:V0|V1|i|s|u)+)\)")
# Characters that fold to several: with (?V1), (?i:ss) matches ß.
_FOLDS = ("ff", "fi", "fl", "ss", "st")
_OPERATORS = ("--", "&&", "~~", "||")
_LINE_ENDS = CodePoints.ranges([(0x0B, 0x0C), (0x85, 0x85), (0x2028, 0x2029)])


def parse(pattern: str, start: Node | None = None) -> Node:
    r"""Return the tree of a pattern; NotRegular for syntax that is not supported here, even if it is regular.

    `start` is the node for `^`; without it, `^` is NotRegular.

    >>> parse(r"a+")
    Repeat(node=Chars(points=...), minimum=1, maximum=None, kind='greedy')
    """
    parser = _Parser(pattern, start)
    tree = parser.alternation(0)
    if parser.at < len(pattern):
        raise NotRegular("an unbalanced parenthesis")
    return tree


class _Parser:
    def __init__(self, pattern: str, start: Node | None) -> None:
        self.text, self.start = pattern, start
        self.at = 0
        self.ignore_case = self.dot_all = self.v1 = False
        if any(0xD800 <= ord(c) < 0xE000 for c in pattern):
            raise NotRegular("a lone surrogate")
        while match := _GLOBAL.match(pattern, self.at):
            self.v1 |= "V1" in match["flags"]
            self.ignore_case |= "i" in match["flags"]
            self.dot_all |= "s" in match["flags"]
            self.at = match.end()
        if self.v1 and "V0" in pattern[: self.at]:
            raise NotRegular("(?V0) and (?V1) together")
        folds = not pattern.isascii() or any(fold in pattern.lower() for fold in _FOLDS)
        if self.v1 and folds and re.search(r"\(\?[a-zV01]*i", pattern):
            raise NotRegular("(?V1) folds one character to several")

    def ahead(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if found := self.text.startswith(text, self.at):
            self.at += len(text)
        return found

    def refuse(self, reason: str) -> NotRegular:
        return NotRegular(f"{reason}, at {self.at}: {self.text[self.at : self.at + 12]!r}")

    def alternation(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.refuse("groups nested too deep")
        options = [self.concatenation(depth)]
        while self.take("|"):
            options.append(self.concatenation(depth))
        if len(options) == 1:
            return options[0]
        if all(isinstance(option, Chars) for option in options):  # equivalent to a class
            return Chars(functools.reduce(CodePoints.__or__, (o.points for o in options if isinstance(o, Chars))))
        return Alt(tuple(options))

    def concatenation(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if self.take("(?#"):
                end = self.text.find(")", self.at)
                if end < 0 or "\\" in self.text[self.at : end]:
                    raise self.refuse("a comment")
                self.at = end + 1
                continue
            parts.append(self.repeated(self.atom(depth)))
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def repeated(self, node: Node) -> Node:
        match = _REPEAT.match(self.text, self.at)
        if match is None:
            if self.ahead("{"):
                raise self.refuse("a brace that repeats nothing")
            return node
        sign = self.text[self.at]
        if isinstance(node, Look):
            raise self.refuse("a repeated look-ahead")
        minimum, maximum = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign, (0, None))
        if sign == "{":
            if not match["minimum"] and not match["maximum"]:
                raise self.refuse("a brace that repeats nothing")
            minimum = int(match["minimum"] or 0)
            maximum = minimum if not match["comma"] else int(match["maximum"]) if match["maximum"] else None
            if max(minimum, maximum or 0) > MAX_REPEATS:
                raise self.refuse(f"more than {MAX_REPEATS} repeats")
            if maximum is not None and maximum < minimum:
                raise self.refuse("a repeat whose maximum is below its minimum")
        self.at = match.end()
        if _REPEAT.match(self.text, self.at):
            raise self.refuse("a repeated repeat")
        return Repeat(node, minimum, maximum, {"": "greedy", "?": "lazy", "+": "possessive"}[match["kind"]])

    def atom(self, depth: int) -> Node:
        character = self.text[self.at]
        if character == "(":
            return self.group(depth)
        if character == "[":
            return Chars(self.char_class())
        if character == "\\":
            return self.escaped()
        if character == "^" and self.start is not None:
            self.at += 1
            return self.start
        if character in "*+?{^":
            raise self.refuse("the start of the text" if character == "^" else "nothing to repeat")
        self.at += 1
        if character == "$":
            return END
        if character == ".":
            return Chars(ALL if self.dot_all else ~CodePoints.ranges([(10, 10)]))
        return Chars(self.literal(ord(character)))

    def literal(self, code: int) -> CodePoints:
        points = CodePoints.ranges([(code, code)])
        return self.folded(points, f"\\U{code:08x}") if self.ignore_case else points

    def folded(self, points: CodePoints, text: str) -> CodePoints:
        """Return what a set matches if case is ignored; `text` is the set in regex's syntax."""
        return code_points.folded_ascii(points) or self.ask(f"(?i:{text})")

    def ask(self, text: str) -> CodePoints:
        try:
            return code_points.ask(text, "(?V1)" if self.v1 else "")
        except ValueError as error:
            raise self.refuse(f"the regex package reports: {error}") from None

    def group(self, depth: int) -> Node:
        start = self.at
        self.at += 1
        kind, on, off = "", "", ""
        if self.ahead("*"):
            raise self.refuse("a verb")
        if self.ahead("?"):
            match = _GROUP.match(self.text, self.at)
            if match is None:
                self.at = start
                reason = "a look-behind" if self.text.startswith(("(?<=", "(?<!"), start) else "a group of this kind"
                raise self.refuse(reason)
            kind, on, off = match["kind"] or "", match["on"] or "", match["off"] or ""
            self.at = match.end()
        before = self.ignore_case, self.dot_all
        self.ignore_case = (self.ignore_case or "i" in on) and "i" not in off
        self.dot_all = (self.dot_all or "s" in on) and "s" not in off
        node = self.alternation(depth + 1)
        self.ignore_case, self.dot_all = before
        if not self.take(")"):
            raise self.refuse("an unbalanced parenthesis")
        if kind in ("=", "!"):
            return look_ahead(node, kind == "!")
        # A group with only an assertion cannot be repeated either; `repeated` would not see it if it were wrapped.
        return Atomic(node) if kind == ">" else node

    def escaped(self) -> Node:
        start = self.at
        if self.take("\\Z") or self.take("\\z"):
            return END
        if self.take("\\R"):
            line_feed, carriage_return = CodePoints.ranges([(10, 10)]), CodePoints.ranges([(13, 13)])
            both = Concat((Chars(carriage_return), Chars(line_feed)))
            alone = Concat((Chars(carriage_return), Look(~line_feed, True)))
            return Alt((both, alone, Chars(_LINE_ENDS | line_feed)))
        named = self.named()
        if named is not None:
            if self.ignore_case and self.text[start + 1] in "pP":
                named = self.ask(f"(?i:{self.text[start : self.at]})")
            return Chars(named)
        return Chars(self.literal(self.escaped_character()))

    def named(self) -> CodePoints | None:
        r"""Parse `\s`, `\p{...}` and similar; None if something else is here."""
        letter = self.text[self.at + 1 : self.at + 2]
        if letter and letter in "dDsSwW":
            self.at += 2
            return code_points.escape(letter)
        if not letter or letter not in "pP":
            return None
        match = _PROPERTY.match(self.text, self.at + 1)
        if match is None:
            raise self.refuse("a property")
        name = match["letter"] or match["name"]
        points = code_points.category(name)
        if points is None:
            points = self.ask(rf"\p{{{name}}}")
        self.at = match.end()
        return ~points if bool(match["not"]) != (letter == "P") else points

    def escaped_character(self) -> int:
        match = _HEX.match(self.text, self.at + 1)
        letter = self.text[self.at + 1 : self.at + 2]
        if match:
            code = int(match.group()[1:], 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                raise self.refuse("no character")
            self.at = match.end()
            return code
        if letter not in _CHARACTER and (not letter or letter.isalnum() or not letter.isascii()):
            raise self.refuse(_REASONS.get(letter, "an escape of this kind"))
        self.at += 2
        return _CHARACTER.get(letter, ord(letter))

    # Classes. `plain` becomes False if a class contains a name: then only `regex` knows how it ignores case.

    def char_class(self) -> CodePoints:
        start = self.at
        points, negative, plain = self.members()
        if not self.ignore_case:
            return ~points if negative else points
        whole = self.text[start : self.at]
        if not plain or (folded := code_points.folded_ascii(points)) is None:
            return self.ask(f"(?i:{whole})")
        return ~folded if negative else folded

    def members(self) -> tuple[CodePoints, bool, bool]:
        r"""Parse a class; return its members, whether `^` negates it, and whether it contains no names."""
        self.at += 1
        negative = self.take("^")
        if self.v1:
            points = self.operation(0)
            self.at += 1
            return points, negative, False
        members: list[CodePoints] = []
        plain = True
        while not members or not self.ahead("]"):
            found, named = self.member()
            members.append(found)
            plain = plain and not named
        self.at += 1
        return CodePoints.union(members), negative, plain

    def operation(self, level: int) -> CodePoints:
        """Parse operands of `||`, `~~`, `&&` and `--`, in order of precedence; adjacent members bind tightest."""
        if level == 4:
            points, found = NOTHING, False
            while not (found and (self.ahead("]") or self.text.startswith(_OPERATORS, self.at))):
                if self.ahead("]") or self.text.startswith(_OPERATORS, self.at):
                    raise self.refuse("a set without members")
                points, found = points | self.member()[0], True
            return points
        sign = ("||", "~~", "&&", "--")[level]
        points = self.operation(level + 1)
        while self.take(sign):
            other = self.operation(level + 1)
            points = (points | other, points ^ other, points & other, points - other)[level]
        return points

    def member(self) -> tuple[CodePoints, bool]:
        """Parse a character, a range or a name; return its set, and whether it is a name."""
        if self.at >= len(self.text):
            raise self.refuse("a class without end")
        if self.text.startswith(_OPERATORS, self.at):
            raise self.refuse("a set operation, which needs (?V1),")
        if match := _POSIX.match(self.text, self.at):
            points = self.ask(f"[{match.group()}]")
            self.at = match.end()
            return points, True
        if self.ahead("[:"):
            raise self.refuse("a bracket in a class")
        if self.v1 and self.ahead("["):
            points, negative, _ = self.members()
            return ~points if negative else points, True
        points_named = self.named() if self.ahead("\\") else None
        if points_named is not None:
            if self.ahead("-") and not self.text.startswith("-]", self.at):
                raise self.refuse("a hyphen after a name")
            return points_named, True
        first = last = self.member_character()
        if self.ahead("-") and not self.text.startswith("-]", self.at) and not self.ahead("--"):
            self.at += 1
            if self.ahead("[") or (self.ahead("\\") and self.text[self.at + 1 : self.at + 2] in "dDsSwWpP"):
                raise self.refuse("a range to a name")
            last = self.member_character()
            if last < first:
                raise self.refuse("a range that runs backwards")
        return CodePoints.ranges([(first, last)]), False

    def member_character(self) -> int:
        if self.at >= len(self.text):
            raise self.refuse("a class without end")
        if self.ahead("\\"):
            if self.ahead("\\b"):
                raise self.refuse("a backspace")
            return self.escaped_character()
        self.at += 1
        return ord(self.text[self.at - 1])
