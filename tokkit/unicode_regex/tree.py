r"""The nodes of a pattern's tree, as immutable data, and what a look-ahead in it can see.

A look-ahead is of one character: `(?!\S)` holds where the next character is white space, or if there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from tokkit.unicode_regex.code_points import ALL, NOTHING, CodePoints


class NotRegular(Exception):
    """Raised with the reason why a pattern is not compiled."""


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


Node = Chars | Concat | Alt | Repeat | Atomic | Look

END = Look(NOTHING, True)
ALWAYS = Look(ALL, True)


def look_ahead(node: Node, negative: bool) -> Look:
    """Return `(?=node)` or `(?!node)` as a condition on one character; NotRegular if one does not decide it."""
    seen = _seen(node)
    if seen is None:
        raise NotRegular("a look-ahead of more than one character")
    return Look(~seen.points, not seen.end) if negative else seen


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
    points, end = ALL, True
    for k, part in enumerate(node.parts):
        seen = _seen(part)
        if seen is None:
            return None
        points, end = points & seen.points, end and seen.end
        if not isinstance(part, Look):  # it may consume a character: the rest must match anything
            return Look(points, end) if all(_seen(rest) == ALWAYS for rest in node.parts[k + 1 :]) else None
    return Look(points, end)


def nullable(node: Node) -> bool:
    """Return whether a node may match without a character."""
    if isinstance(node, Chars):
        return False
    if isinstance(node, Look):
        return True
    if isinstance(node, Atomic):
        return nullable(node.node)
    if isinstance(node, Repeat):
        return node.minimum == 0 or nullable(node.node)
    if isinstance(node, Alt):
        return any(map(nullable, node.options))
    return all(map(nullable, node.parts))
