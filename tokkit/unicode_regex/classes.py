"""Parses escapes and classes of characters in all dialects."""

from __future__ import annotations

import re

from tokkit.unicode_regex import code_points, dialects, literals, tree
from tokkit.unicode_regex.code_points import ALL, NOTHING, CodePoints
from tokkit.unicode_regex.dialects import Dialect
from tokkit.unicode_regex.tree import Chars, Node, UnknownSyntax

_PROPERTY = re.compile(r"[pP](?:\{(?P<not>\^?)(?P<name>[A-Za-z0-9_ &=!:.-]+)\}|(?P<letter>[A-Z]))")
_POSIX = re.compile(r"\[:(?P<not>\^?)(?P<name>[a-z]+):\]")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_OPERATORS = ("--", "&&", "~~", "||")
_REASONS = {
    **dict.fromkeys("bBmMyY", "a boundary of this kind"),
    **dict.fromkeys("AG", "a place in the text"),
    **dict.fromkeys("123456789gk", "a back-reference"),
    "X": "a cluster of characters",
}


class ClassParser:
    """A position in a pattern, and what is read of characters and classes there."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.text, self.dialect = pattern, dialect
        self.at = 0
        self.ignore_case = False
        self.marks: set[Node] = set()

    def ahead(self, text: str) -> bool:
        """Return whether a text comes next."""
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Read a text if it comes next."""
        if found := self.text.startswith(text, self.at):
            self.at += len(text)
        return found

    def refuse(self, reason: str) -> UnknownSyntax:
        """Return the error for what comes next."""
        return UnknownSyntax(reason, self.text, self.at)

    def folded(self, points: CodePoints, text: str) -> CodePoints:
        """Return what a set matches if case is ignored; `text` is the set in regex's syntax."""
        if self.dialect.fold is not None:
            return self.dialect.fold(points)
        return code_points.folded_ascii(points) or self.ask(f"(?i:{text})")

    def ask(self, text: str) -> CodePoints:
        """Return what the `regex` package matches with a one-character pattern."""
        try:
            return code_points.ask(text, "(?V1)" if self.dialect is dialects.REGEX_V1 else "")
        except ValueError as error:
            raise self.refuse(f"the regex package reports: {error}") from None

    # Escapes

    def named(self) -> CodePoints | None:
        r"""Parse `\s`, `\p{...}` and similar; None if something else is here."""
        letter = self.text[self.at + 1 : self.at + 2]
        if letter and letter.lower() in self.dialect.letters:
            points = self.dialect.letters[letter.lower()]()
            self.at += 2
            return ~points if letter.isupper() else points
        if letter and letter in "NO" and self.dialect in dialects.MARKED.values():
            self.at += 2
            return ~self.dialect.line_ends if letter == "N" else ALL
        if not letter or letter not in "pP":
            return None
        match = _PROPERTY.match(self.text, self.at + 1)
        if match is None or (match["letter"] and not self.dialect.one_letter_names):
            raise self.refuse("a property")
        points = self.property_named(match["letter"] or match["name"])
        if self.ignore_case and self.dialect.folds == "each":
            points = self.folded(points, "")
        self.at = match.end()
        return ~points if bool(match["not"]) != (letter == "P") else points

    def property_named(self, name: str) -> CodePoints:
        r"""Return what `\p{name}` matches."""
        try:
            points = self.dialect.named(name)
        except ValueError as error:
            raise self.refuse(str(error)) from None
        if points is None and self.dialect in (dialects.REGEX, dialects.REGEX_V1):
            points = self.ask(rf"\p{{{name}}}")
        if points is None:
            raise self.refuse(f"{name!r} is no property that is known")
        return points

    def escaped_character(self) -> int:
        """Parse an escape that stands for one character."""
        letter = self.text[self.at + 1 : self.at + 2]
        if match := self.dialect.code_points.match(self.text, self.at + 1):
            return self.code_point(int(next(filter(None, match.groups())), 16), match.end())
        if self.dialect is dialects.ONIGURUMA and (match := _OCTAL.match(self.text, self.at + 1)):
            code = int(match.group(), 8)
            if code < 0x80:
                return self.code_point(code, match.end())
        plain = letter and (letter in self.dialect.themselves or (letter.isascii() and not letter.isalnum()))
        other = letter and not letter.isascii() and self.dialect in dialects.MARKED.values()
        if letter not in self.dialect.controls and not (plain or other):
            raise self.refuse(_REASONS.get(letter, "an escape of this kind"))
        if letter and letter in "<>" and self.dialect is dialects.FANCY_REGEX:
            raise self.refuse("a boundary of this kind")
        self.at += 2
        return self.dialect.controls.get(letter, ord(letter))

    def code_point(self, code: int, end: int) -> int:
        """Return a code point whose escape ends at `end`."""
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise self.refuse("no character")
        self.at = end
        return code

    # Classes. `plain` becomes False if a class contains a name: then only `regex` knows how it ignores case.

    def char_class(self) -> Node:
        """Parse a class in brackets."""
        start = self.at
        points, negative, plain = self.members()
        if not self.ignore_case:
            return Chars(~points if negative else points)
        if self.dialect.fold is not None:
            several = literals.words_of(points) if self.dialect.full_folds and not negative else []
            found = self.dialect.fold(points)
            return tree.alt((Chars(~found if negative else found), *several))
        whole = self.text[start : self.at]
        if not plain or (folded := code_points.folded_ascii(points)) is None:
            return Chars(self.ask(f"(?i:{whole})"))
        return Chars(~folded if negative else folded)

    def members(self) -> tuple[CodePoints, bool, bool]:
        r"""Parse a class; return its members, whether `^` negates it, and whether it contains no names."""
        self.at += 1
        negative = self.take("^")
        if self.dialect.nested:
            points = self.operation(0, first=self.dialect.first_bracket and self.ahead("]"))
            self.at += 1
            return points, negative, False
        members: list[CodePoints] = []
        plain = True
        while (not members and self.dialect.first_bracket) or not self.ahead("]"):
            found, named = self.member()
            members.append(found)
            plain = plain and not named
        self.at += 1
        return CodePoints.union(members), negative, plain

    def operation(self, level: int, *, first: bool = False) -> CodePoints:
        """Parse operands of operators, in order of precedence; adjacent members bind tightest.

        `first`: a bracket here is a character.
        """
        if level == len(self.dialect.operators):
            return self.operand(first)
        points = self.operation(level + 1, first=first)
        while sign := next(filter(self.take, self.dialect.operators[level]), None):
            other = self.operation(level + 1)
            if self.ignore_case and self.dialect.folds == "each":
                points, other = self.folded(points, ""), self.folded(other, "")
            points = {
                "||": points.__or__, "~~": points.__xor__, "&&": points.__and__, "--": points.__sub__,
            }[sign](other)  # fmt: skip
        return points

    def operand(self, first: bool) -> CodePoints:
        """Parse the members between two operators."""
        members: list[CodePoints] = []
        if self.dialect is dialects.FANCY_REGEX and self.text[self.at - 1] in "[^":
            while self.take("-"):  # hyphens at the start are characters
                members.append(CodePoints.of([45]))
        operators = tuple(sign for level in self.dialect.operators for sign in level)
        while (first and not members) or not (self.ahead("]") or self.text.startswith(operators, self.at)):
            members.append(self.member()[0])
        if not members and not self.dialect.operands_may_be_empty:
            raise self.refuse("a set without members")
        return CodePoints.union(members) if members else NOTHING

    def member(self) -> tuple[CodePoints, bool]:
        """Parse a character, a range or a name; return its set, and whether it is a name."""
        if self.at >= len(self.text):
            raise self.refuse("a class without end")
        if self.dialect in (dialects.REGEX, dialects.REGEX_V1) and self.text.startswith(_OPERATORS, self.at):
            raise self.refuse("a set operation, which needs (?V1),")
        if self.ahead("[:") and (points := self.posix()) is not None:
            return points, True
        if self.ahead("[") and self.dialect.nested:
            points, negative, _ = self.members()
            if self.ignore_case and self.dialect.folds == "each":
                points = self.folded(points, "")
            return ~points if negative else points, True
        points_named = self.named() if self.ahead("\\") else None
        if points_named is not None:
            if self.ahead("-") and not self.text.startswith("-]", self.at) and not self.operator_ahead():
                raise self.refuse("a hyphen after a name")
            return points_named, True
        first = last = self.member_character()
        if self.ranges():
            self.at += 1
            if self.ahead("[") or (self.ahead("\\") and self.text[self.at + 1 : self.at + 2] in "dDsSwWpPhHNO"):
                raise self.refuse("a range to a name")
            last = self.member_character()
            if last < first:
                raise self.refuse("a range that runs backwards")
            if self.ahead("--") and self.dialect is dialects.ONIGURUMA:
                raise self.refuse("a hyphen after a range")
        return CodePoints.ranges([(first, last)]), False

    def operator_ahead(self) -> bool:
        """Return whether an operator of the dialect comes next."""
        return any(self.ahead(sign) for level in self.dialect.operators for sign in level)

    def ranges(self) -> bool:
        """Return whether a hyphen makes a range with the character before it."""
        if not self.ahead("-") or self.text.startswith("-]", self.at):
            return False
        if self.dialect is dialects.ONIGURUMA:
            return not self.text.startswith("-[", self.at)
        return not self.ahead("--")

    def posix(self) -> CodePoints | None:
        """Parse `[:name:]`; None if it is a class in the class."""
        match = _POSIX.match(self.text, self.at)
        if self.dialect in (dialects.REGEX, dialects.REGEX_V1):
            if match is None:
                raise self.refuse("a bracket in a class")
            points = self.ask(f"[{match.group()}]")
        elif self.dialect.posix is None:
            return None
        else:
            found = None if match is None else self.dialect.posix(match["name"])
            if match is None or found is None:
                if self.dialect is dialects.FANCY_REGEX:
                    return None  # a class in the class
                raise self.refuse("a bracket in a class")
            if self.ignore_case and self.dialect.folds == "each":
                found = self.folded(found, "")
            points = ~found if match["not"] else found
        self.at = match.end()
        return points

    def member_character(self) -> int:
        """Parse a character of a class."""
        if self.at >= len(self.text):
            raise self.refuse("a class without end")
        if self.ahead("\\"):
            if self.ahead("\\b"):
                if self.dialect in (dialects.REGEX, dialects.REGEX_V1):
                    raise self.refuse("a backspace")
                self.at += 2
                return 8
            return self.escaped_character()
        self.at += 1
        return ord(self.text[self.at - 1])
