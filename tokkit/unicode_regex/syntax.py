r"""Parses patterns of all dialects to a tree.

The parser is strict: what may have another meaning in the pattern's dialect is UnknownSyntax, with the reason and the
place, and so is what the dialect refuses. For the `regex` package's own dialect this only means that the package runs
the pattern. Two decisions: `$` is the end of the text there, as in tiktoken, not also before a last newline; named
sets are by Unicode 16.0 (code_points.py).
"""

from __future__ import annotations

import re

from tokkit.unicode_regex import dialects, tree
from tokkit.unicode_regex.classes import ClassParser
from tokkit.unicode_regex.code_points import ALL, CodePoints
from tokkit.unicode_regex.dialects import Dialect
from tokkit.unicode_regex.groups import numbered
from tokkit.unicode_regex.literals import Letters, joined, node_of
from tokkit.unicode_regex.tree import START, Chars, Keep, Look, LookAround, LookBehind, Node, NotRegular

MAX_DEPTH = 40

_GLOBAL = re.compile(r"\(\?(?P<flags>(?:V0|V1|i|s|u)+)\)")
# Characters that fold to several: with (?V1), (?i:ss) matches ß.
_FOLDS = ("ff", "fi", "fl", "ss", "st")
_LINE_ENDS = CodePoints.of([10, 11, 12, 0x85, 0x2028, 0x2029])
_SPACES = " \t\n\r"
_NAMED_GROUP = re.compile(r"\(\?(?:<[A-Za-z_]|')")
_REFERENCE = re.compile(r"\\(?:(?P<number>[1-9][0-9]*)|k(?:<(?P<name>\w+)>|'(?P<quoted>\w+)'))|\(\?P=(?P<python>\w+)\)")


def parse(pattern: str, *, dialect: Dialect | None = None, start: Node = START) -> Node:
    r"""Return the tree of a pattern in its dialect, or in `dialect`; UnknownSyntax for what is not supported here.

    `start` is the node for the start of the text.

    >>> parse(r"a+")
    Repeat(node=Chars(points=...), minimum=1, maximum=None, kind='greedy')
    """
    own, text = dialects.of(pattern) if dialect is None else (dialect, pattern)
    try:
        try:
            return _Parser(text, own, start).whole()
        except _HasReferences:
            parser = _Parser(text, own, start)
            parser.groups = {}
            return numbered(parser.whole())
    except RecursionError:
        raise NotRegular("its parts are nested too deep") from None


class _HasReferences(Exception):
    """Raised where a pattern refers to a group, so that groups matter."""


class _Parser(ClassParser):
    def __init__(self, pattern: str, dialect: Dialect, start: Node) -> None:
        super().__init__(pattern, dialect)
        self.start = start
        self.dot_all = self.verbose = self.multi_line = self.lazy_first = False
        self.groups: dict[str, int] | None = None  # closed groups by name and number, if they matter
        self.opened = 0
        self.behind = 0  # how many look-behinds are open
        if any(0xD800 <= ord(c) < 0xE000 for c in pattern):
            raise NotRegular("a lone surrogate")
        if dialect is dialects.REGEX:
            self.leading_flags(pattern)

    def leading_flags(self, pattern: str) -> None:
        while match := _GLOBAL.match(pattern, self.at):
            if "V1" in match["flags"]:
                self.dialect = dialects.REGEX_V1
            self.ignore_case |= "i" in match["flags"]
            self.dot_all |= "s" in match["flags"]
            self.at = match.end()
        if self.dialect is dialects.REGEX_V1 and "V0" in pattern[: self.at]:
            raise NotRegular("(?V0) and (?V1) together")
        folds = not pattern.isascii() or any(fold in pattern.lower() for fold in _FOLDS)
        if self.dialect is dialects.REGEX_V1 and folds and re.search(r"\(\?[a-zV01]*i", pattern):
            raise NotRegular("(?V1) folds one character to several")

    def whole(self) -> Node:
        node = self.alternation(0)
        if self.at < len(self.text):
            raise self.refuse("an unbalanced parenthesis")
        return node_of(node)

    def alternation(self, depth: int) -> Node | Letters:
        if depth > MAX_DEPTH:
            raise self.refuse("groups nested too deep")
        options = [self.concatenation(depth)]
        while self.take("|"):
            options.append(self.concatenation(depth))
        return options[0] if len(options) == 1 else tree.alt(map(node_of, options))

    def concatenation(self, depth: int) -> Node | Letters:
        parts: list[Node | Letters] = []
        while self.skip() and self.text[self.at] not in "|)":
            if self.flags_here(depth, parts):
                continue
            parts.append(self.repeated(self.atom(depth)))
        return joined(parts)

    def skip(self) -> bool:
        """Skip comments, and white space in verbose patterns; return whether anything is left."""
        while self.at < len(self.text):
            if self.ahead("(?#") and self.dialect is not dialects.ECMA:
                end = self.text.find(")", self.at)
                if end < 0 or "\\" in self.text[self.at : end]:
                    raise self.refuse("a comment")
                self.at = end + 1
            elif self.verbose and self.text[self.at] in _SPACES:
                self.at += 1
            elif self.verbose and self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end + 1
            elif self.verbose and self.text[self.at].isspace():
                raise self.refuse("white space of this kind in (?x)")
            else:
                return True
        return False

    def flags_here(self, depth: int, parts: list[Node | Letters]) -> bool:
        """Parse `(?flags)`, which holds up to the end of the group."""
        match = self.dialect.group.match(self.text, self.at + 1) if self.ahead("(?") else None
        if match is None or self.dialect.flags_reach == "none" or match["rest"] != ")":
            return False
        self.at = match.end()
        before = self.state()
        self.set_flags(match)
        if self.dialect.flags_reach == "alternatives":
            parts.append(node_of(self.alternation(depth + 1)))
            self.restore(before)
        return True

    def state(self) -> tuple[bool, ...]:
        return self.ignore_case, self.dot_all, self.verbose, self.multi_line, self.lazy_first

    def restore(self, state: tuple[bool, ...]) -> None:
        self.ignore_case, self.dot_all, self.verbose, self.multi_line, self.lazy_first = state

    def set_flags(self, match: re.Match[str]) -> None:
        groups = match.groupdict()
        on, off = groups.get("on") or "", groups.get("off") or ""
        flags = ("i", self.dialect.dot_all, "x", "m" if self.dialect.dot_all != "m" else "", "U")
        before = self.state()
        self.restore(
            tuple(
                (old or (flag != "" and flag in on)) and not (flag and flag in off)
                for old, flag in zip(before, flags, strict=True)
            )
        )

    # Repeats

    def repeated(self, node: Node | Letters) -> Node | Letters:
        counted = self.counted()
        while counted is not None:
            if isinstance(node, (Look, LookBehind, LookAround, Keep)) or node in self.marks:
                raise self.refuse("a repeat of what looks around")
            made = tree.repeat(node_of(node), *counted)
            following = self.counted()
            if following is not None and not (
                self.dialect.repeated_repeats
                and counted[2] == following[2] == "greedy"
                and (not tree.nullable(made) or (following[:2] in ((0, None), (1, None), (0, 1)) and counted[0] == 0))
            ):
                raise self.refuse("a repeated repeat")
            node, counted = made, following
        return node

    def counted(self) -> tuple[int, int | None, str] | None:
        """Parse the sign of a repeat: its minimum, maximum and kind."""
        if not self.skip() or self.text[self.at] not in "*+?{":
            return None
        sign, lazy = self.text[self.at], self.dialect.lazy
        minimum, maximum = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign, (0, None))
        kind = "greedy"
        if sign == "{":
            match = self.dialect.brace.match(self.text, self.at)
            if match is None and self.dialect.literal_brace:
                return None
            if match is None or not (match["minimum"] or match["maximum"] or self.dialect.literal_brace):
                raise self.refuse("a brace that repeats nothing")
            minimum, maximum = self.bounds(match)
            if maximum is not None and maximum < minimum:
                if self.dialect is not dialects.ONIGURUMA:
                    raise self.refuse("a repeat whose maximum is below its minimum")
                minimum, maximum, kind, lazy = maximum, minimum, "possessive", False
            if self.dialect is dialects.ONIGURUMA and minimum == maximum:
                lazy = False  # {n}? may match nothing there
                if match["comma"] and self.text.startswith("?", match.end()):
                    raise self.refuse("{n,n}?")
            self.at = match.end()
        else:
            self.at += 1
        if lazy and self.take("?"):
            kind = "lazy"
        elif sign in self.dialect.possessive and self.take("+"):
            kind = "possessive"
        if self.lazy_first and kind != "possessive":
            kind = "greedy" if kind == "lazy" else "lazy"
        return minimum, maximum, kind

    def bounds(self, match: re.Match[str]) -> tuple[int, int | None]:
        given = match["minimum"] or "", match["maximum"] or ""
        if max(map(len, given)) > 7 or max(int(one or 0) for one in given) > self.dialect.most_repeats:
            raise self.refuse(f"more than {self.dialect.most_repeats} repeats")
        minimum = int(match["minimum"] or 0)
        return minimum, minimum if not match["comma"] else int(match["maximum"]) if match["maximum"] else None

    # Atoms

    def atom(self, depth: int) -> Node | Letters:
        character = self.text[self.at]
        if (match := _REFERENCE.match(self.text, self.at)) and (node := self.reference(match)) is not None:
            return node
        if character == "(":
            return self.group(depth)
        if character == "[":
            return self.char_class()
        if character == "\\":
            return self.escaped(depth)
        if character in "*+?" or (character in "{}]" and self.dialect is dialects.ECMA) or self.opening_brace():
            raise self.refuse("nothing to repeat")
        self.at += 1
        if character in "^$":
            return self.anchor(character)
        if character == ".":
            return Chars(ALL if self.dot_all else ~self.dialect.line_ends)
        return self.letter(ord(character))

    def opening_brace(self) -> bool:
        if not self.ahead("{"):
            return False
        return not self.dialect.literal_brace or self.dialect.brace.match(self.text, self.at) is not None

    def anchor(self, sign: str) -> Node:
        own = self.dialect.anchors
        made: Node | None = (own | dialects.LINES if self.multi_line else own).get(sign)
        if made is None:
            raise self.refuse("a place in the text")
        made = self.start if made is START else made
        self.marks.add(made)
        return made

    def group(self, depth: int) -> Node | Letters:
        start = self.at
        self.at += 1
        kind, name, flags = "(", "", ""
        before = self.state()
        if self.ahead("*"):
            raise self.refuse("a verb")
        if self.ahead("?"):
            match = self.dialect.group.match(self.text, self.at)
            if match is None:
                self.at = start
                raise self.refuse("a group of this kind")
            groups = match.groupdict()
            name = groups.get("name") or groups.get("quoted") or ""
            kind = match["kind"] or ("(" if name else ":")
            flags = (groups.get("on") or "") + (groups.get("off") or "")
            self.at = match.end()
            self.set_flags(match)
        number = self.open_group(kind, name)
        self.behind += kind in ("<=", "<!")
        inner = self.alternation(depth + 1)
        self.behind -= kind in ("<=", "<!")
        self.restore(before)
        if not self.take(")"):
            raise self.refuse("an unbalanced parenthesis")
        if kind == ":" and not flags:
            return inner
        node = node_of(inner)
        if kind in ("=", "!"):
            return tree.look_ahead(node, kind == "!")
        if kind in ("<=", "<!"):
            if self.dialect is dialects.FANCY_REGEX and tree.width(node) is None and tree.looks_around(node):
                raise self.refuse("a look-around in a look-behind of any length")
            return tree.look_behind(node, kind == "<!")
        if kind == ">":
            return tree.atomic(node)
        return self.close_group(node, number, name)

    def escaped(self, depth: int) -> Node | Letters:
        start, letter = self.at, self.text[self.at + 1 : self.at + 2]
        if letter and letter in "AzZ":
            self.at += 2
            return self.anchor(letter)
        if letter and letter in "bB" and self.dialect.word is not None:
            self.at += 2
            if self.ahead("{"):
                raise self.refuse("a boundary of this kind")
            boundary = (tree.boundary if letter == "b" else tree.no_boundary)(self.dialect.word())
            self.marks.add(boundary)
            return boundary
        if letter == "K" and self.dialect in dialects.MARKED.values() and depth == 0:
            self.at += 2
            return Keep()
        if letter == "R" and self.dialect is not dialects.ECMA:
            if self.behind and self.dialect in dialects.MARKED.values():
                raise self.refuse("a line end of any kind in a look-behind")  # Oniguruma finds no single one
            self.at += 2
            half = tree.concat((tree.chars(13), Look(~CodePoints.of([10]), True)))
            return tree.alt((tree.text("\r\n"), half, Chars(_LINE_ENDS)))
        named = self.named()
        if named is not None and self.dialect.word is not None:
            in_class, alone = self.dialect.letters["w"](), self.dialect.word()
            named = alone if named == in_class else ~alone if named == ~in_class else named
        if named is not None:
            if self.ignore_case and self.text[start + 1] in "pP" and self.dialect.fold is None:
                named = self.ask(f"(?i:{self.text[start : self.at]})")
            return Chars(named)
        return self.letter(self.escaped_character())

    def letter(self, code: int) -> Node | Letters:
        points = CodePoints.of([code])
        if not self.ignore_case:
            return Chars(points)
        return Letters(chr(code)) if self.dialect.full_folds else Chars(self.folded(points, f"\\U{code:08x}"))

    # Groups that a pattern refers to

    def open_group(self, kind: str, name: str) -> int:
        named_alone = self.dialect is dialects.ONIGURUMA and _NAMED_GROUP.search(self.text)
        if kind != "(" or (named_alone and not name):
            return 0
        self.opened += 1
        return self.opened

    def close_group(self, node: Node, number: int, name: str) -> Node:
        if self.groups is None or not number:
            return node
        if name in self.groups and name:
            raise self.refuse("a name of two groups in a pattern with back-references")
        self.groups[name or str(number)] = self.groups[str(number)] = number
        return tree.Group(number, node)

    def reference(self, match: re.Match[str]) -> Node | None:
        if self.dialect not in dialects.MARKED.values() or (match["python"] and self.dialect is dialects.ONIGURUMA):
            raise self.refuse("a back-reference")
        number = match["number"]
        if number and int(number) > max(9, self.opened) and self.dialect is dialects.ONIGURUMA:
            return None  # an octal number
        if self.groups is None:
            raise _HasReferences
        named_alone = self.dialect is dialects.ONIGURUMA and _NAMED_GROUP.search(self.text)
        name = number or match["name"] or match["quoted"] or match["python"]
        if name not in self.groups or (named_alone and number):
            raise self.refuse("a back-reference to a group that does not end before it")
        if self.ignore_case:
            raise self.refuse("a back-reference that ignores case")
        self.at = match.end()
        return tree.BackReference(self.groups[name])
