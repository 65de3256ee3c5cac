r"""The nodes of a pattern's tree, as immutable data, and what its look-arounds can see.

Nodes are made by the functions `concat`, `alt`, `repeat`, `atomic`, `look_ahead` and `look_behind`, so that patterns of
the same meaning mostly have equal trees. A look-around that one character decides is a `Look` or a `LookBehind`,
which automata have; others are a `LookAround`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tokkit.unicode_regex.code_points import ALL, NOTHING, CodePoints


class NotRegular(Exception):
    """Raised with the reason why a pattern is not compiled."""


class UnknownSyntax(NotRegular):
    """Raised for syntax that is not read here: `at` is its position in the pattern, `reason` says what it is."""

    def __init__(self, reason: str, pattern: str, at: int) -> None:
        super().__init__(f"{reason}, at {at}: {pattern[at : at + 12]!r}")
        self.reason, self.at, self.text = reason, at, pattern[at : at + 12]


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    points: CodePoints


@dataclass(frozen=True, slots=True)
class Concat:
    """One part after another; without parts, the empty match."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """The first option that leads to a match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """From `minimum` to `maximum` times (None: without end); kind is "greedy", "lazy" or "possessive"."""

    node: Node
    minimum: int
    maximum: int | None
    kind: str


@dataclass(frozen=True, slots=True)
class Atomic:
    """An atomic group: only the first way to match, whatever follows."""

    node: Node


@dataclass(frozen=True, slots=True)
class Look:
    """A look-ahead: a condition on the next character, and on whether the text may end here."""

    points: CodePoints
    end: bool


@dataclass(frozen=True, slots=True)
class LookBehind:
    """A look-behind: a condition on the character before, and on whether the text may begin here."""

    points: CodePoints
    start: bool


@dataclass(frozen=True, slots=True)
class LookAround:
    """A look-ahead or a look-behind that one character does not decide."""

    node: Node
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A group to which a back-reference refers."""

    number: int
    node: Node


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text that a group has matched last; no match if it has not."""

    number: int


@dataclass(frozen=True, slots=True)
class Keep:
    r"""`\K`: the match begins here."""


Node = Chars | Concat | Alt | Repeat | Atomic | Look | LookBehind | LookAround | Group | BackReference | Keep
Mark = Look | LookBehind | LookAround | Keep
"""Nodes that consume nothing, whatever the text is."""

EMPTY = Concat(())
START = LookBehind(NOTHING, True)
END = Look(NOTHING, True)
ALWAYS = Look(ALL, True)


def chars(*codes: int) -> Chars:
    """Return one of the characters."""
    return Chars(CodePoints.of(codes))


def text(word: str) -> Node:
    """Return the characters of a word in turn."""
    return concat(chars(ord(c)) for c in word)


def concat(parts: Iterable[Node]) -> Node:
    """Return one part after another."""
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Concat) else [part])
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def alt(options: Iterable[Node]) -> Node:
    """Return the first option that leads to a match; options of one character each are a class."""
    flat: list[Node] = []
    for option in options:
        flat.extend(option.options if isinstance(option, Alt) else [option])
    if len(flat) == 1:
        return flat[0]
    if all(isinstance(option, Chars) for option in flat):
        return Chars(CodePoints.union(option.points for option in flat if isinstance(option, Chars)))
    return Alt(tuple(flat))


def repeat(node: Node, minimum: int, maximum: int | None, kind: str) -> Node:
    """Return a repeat; one without a choice is greedy."""
    if maximum == 0:
        return EMPTY
    if isinstance(node, Repeat) and node.kind == kind == "greedy" and minimum in (0, 1) and maximum in (1, None):
        if (node.minimum, node.maximum) == (0, None):
            return node  # a repeat of any number is that number
        if (node.minimum, node.maximum, maximum) == (0, 1, None):
            return Repeat(node.node, 0, None, kind)
    if minimum == maximum == 1 and kind != "possessive":
        return node
    return Repeat(node, minimum, maximum, "greedy" if minimum == maximum and kind == "lazy" else kind)


def atomic(node: Node) -> Node:
    """Return an atomic group; a repeat in one is possessive."""
    if isinstance(node, Repeat) and node.kind == "greedy":
        return replace(node, kind="possessive")
    return node if isinstance(node, (Chars, Look, LookBehind)) else Atomic(node)


def look_ahead(node: Node, negative: bool) -> Node:
    """Return `(?=node)` or `(?!node)`."""
    seen = _seen(node)
    if seen is None:
        return LookAround(node, False, negative)
    return Look(~seen.points, not seen.end) if negative else seen


def look_behind(node: Node, negative: bool) -> Node:
    """Return `(?<=node)` or `(?<!node)`."""
    seen = node if isinstance(node, LookBehind) else LookBehind(node.points, False) if isinstance(node, Chars) else None
    if seen is None:
        return LookAround(node, True, negative)
    return LookBehind(~seen.points, not seen.start) if negative else seen


def boundary(word: CodePoints) -> Node:
    r"""Return `\b`: a place with a character of a word on one side only."""
    after, before = (
        concat((LookBehind(word, False), Look(~word, True))),
        concat((LookBehind(~word, True), Look(word, False))),
    )
    return Alt((after, before))


def no_boundary(word: CodePoints) -> Node:
    r"""Return `\B`: a place with characters of words on both sides or neither."""
    inside, outside = (
        concat((LookBehind(word, False), Look(word, False))),
        concat((LookBehind(~word, True), Look(~word, True))),
    )
    return Alt((inside, outside))


def _before(ends: Node) -> Node:
    return look_ahead(concat((ends, END)), False)


def _seen(node: Node) -> Look | None:
    """Return the next characters with which a node matches, None if one character does not decide it."""
    if isinstance(node, Chars):
        return Look(node.points, False)
    if isinstance(node, Look):
        return node
    if isinstance(node, Atomic):
        return _seen(node.node)
    if isinstance(node, Repeat):
        return ALWAYS if node.minimum == 0 else _seen(node.node) if node.minimum == 1 else None
    if isinstance(node, Alt):
        points, end = NOTHING, False
        for option in node.options:
            seen = _seen(option)
            if seen is None:
                return None
            points, end = points | seen.points, end or seen.end
        return Look(points, end)
    if not isinstance(node, Concat):
        return None
    points, end = ALL, True
    for k, part in enumerate(node.parts):
        seen = _seen(part)
        if seen is None:
            return None
        points, end = points & seen.points, end and seen.end
        if not isinstance(part, Look):  # it may consume a character: the rest must match anything
            return Look(points, end) if all(_seen(rest) == ALWAYS for rest in node.parts[k + 1 :]) else None
    return Look(points, end)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes in a node."""
    if isinstance(node, Concat):
        return node.parts
    if isinstance(node, Alt):
        return node.options
    return (node.node,) if isinstance(node, (Repeat, Atomic, LookAround, Group)) else ()


def nullable(node: Node, groups: Mapping[int, Node] = MappingProxyType({})) -> bool:
    """Return whether a node may match without a character; `groups` are those of a pattern by number."""
    if isinstance(node, Chars):
        return False
    if isinstance(node, Repeat):
        return node.minimum == 0 or nullable(node.node, groups)
    if isinstance(node, Alt):
        return any(nullable(option, groups) for option in node.options)
    if isinstance(node, (Concat, Atomic, Group)):
        return all(nullable(part, groups) for part in children(node))
    if isinstance(node, BackReference) and node.number in groups:
        return nullable(groups[node.number], groups)
    return True


def width(node: Node) -> int | None:
    """Return the number of characters that a node matches, None if it may match more or fewer."""
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Repeat):
        inner = width(node.node)
        return None if inner is None or node.maximum != node.minimum else inner * node.minimum
    if isinstance(node, BackReference):
        return None
    widths = [width(child) for child in children(node)] if not isinstance(node, LookAround) else []
    if None in widths or (isinstance(node, Alt) and len(set(widths)) > 1):
        return None
    return widths[0] if isinstance(node, Alt) else sum(one for one in widths if one is not None)


def looks_around(node: Node) -> bool:
    """Return whether a node has anchors, look-aheads or look-behinds in it."""
    return isinstance(node, (Look, LookBehind, LookAround)) or any(map(looks_around, children(node)))


def same_backwards(node: Node, *, behind: bool = False) -> bool:
    """Return whether look-behinds mean the same if they are matched from right to left, as `regex` does."""
    one_way = isinstance(node, (Atomic, Group, BackReference)) or (
        isinstance(node, Repeat) and node.kind == "possessive"
    )
    if behind and one_way:
        return False
    behind = behind or (isinstance(node, LookAround) and node.behind)
    return all(same_backwards(child, behind=behind) for child in children(node))


def why_not_alike(node: Node) -> str:
    """Return why engines may find other matches of a tree that is no automaton; "" if they do not."""
    if loops_on_nothing(node, groups_of(node)):
        return "a repeat of what can match the empty text"
    if not same_backwards(node):
        return "an atomic group, a possessive repeat or a back-reference in a look-behind"
    return ""


def groups_of(node: Node) -> dict[int, Node]:
    """Return the groups in a tree by their numbers."""
    found = {node.number: node.node} if isinstance(node, Group) else {}
    for child in children(node):
        found |= groups_of(child)
    return found


def loops_on_nothing(node: Node, groups: Mapping[int, Node]) -> bool:
    """Return whether a repeat with a choice is of something that may match the empty text: engines differ in that."""
    if isinstance(node, Repeat) and node.minimum != node.maximum and nullable(node.node, groups):
        return True
    return any(loops_on_nothing(child, groups) for child in children(node))


def sets_of(node: Node) -> set[CodePoints]:
    """Return all sets of characters in a tree."""
    if isinstance(node, (Chars, Look, LookBehind)):
        return {node.points}
    return functools.reduce(set.__or__, map(sets_of, children(node)), set())


def has_empty_class(node: Node) -> bool:
    r"""Return whether a tree has a class without characters, such as [^\s\S], which `regex` takes for any character."""
    if isinstance(node, Chars):
        return node.points == NOTHING
    if isinstance(node, (Look, LookBehind)):
        at_edge = node.end if isinstance(node, Look) else node.start
        return node.points == (ALL if at_edge else NOTHING)
    return any(map(has_empty_class, children(node)))


def behinds_of(node: Node) -> set[LookBehind]:
    """Return all look-behinds for one character in a tree."""
    return (
        {node} if isinstance(node, LookBehind) else functools.reduce(set.__or__, map(behinds_of, children(node)), set())
    )


_FEED = chars(10)
LINE_START = Alt((START, concat((LookBehind(_FEED.points, False), Look(ALL, False)))))
"""The start of a line, but not of an empty one at the end of the text."""
ANY_LINE_START = LookBehind(_FEED.points, True)
LINE_END = Look(_FEED.points, True)
LAST_LINE_END = _before(repeat(_FEED, 0, 1, "greedy"))
"""The end of the text, or the place before a line end there."""
BEFORE_LINE_ENDS = _before(repeat(_FEED, 0, None, "greedy"))
"""A place after which only line ends stand."""
