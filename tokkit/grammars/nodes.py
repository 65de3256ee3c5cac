"""The nodes of a grammar's rules as immutable data: texts, characters, and combinations of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokkit.unicode_regex.code_points import CodePoints


@dataclass(frozen=True, slots=True)
class Texts:
    """One of these texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    points: CodePoints


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after another; without parts, the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of the options; without options, no text at all."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Repeats from `minimum` to `maximum` times; None means no limit."""

    node: Node
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Call:
    """A text of another rule."""

    rule: str


Node = Texts | Chars | Sequence | OneOf | Repeat | Call


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules by name, and the start rule. `places` describes rules in messages."""

    rules: Mapping[str, Node]
    start: str
    places: Mapping[str, str] = field(default_factory=dict)


def text(one: str) -> Node:
    """Return the node of one text."""
    return Texts((one,))


def sequence(*parts: Node) -> Node:
    """Return parts one after another."""
    return parts[0] if len(parts) == 1 else Sequence(parts)


def one_of(*options: Node) -> Node:
    """Return a choice of nodes."""
    return options[0] if len(options) == 1 else OneOf(options)


def optional(node: Node) -> Node:
    """Return an optional node."""
    return Repeat(node, 0, 1)


def many(node: Node) -> Node:
    """Return a node any number of times."""
    return Repeat(node, 0, None)
