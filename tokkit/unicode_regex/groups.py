"""Groups of patterns with back-references."""

from __future__ import annotations

from dataclasses import replace

from tokkit.unicode_regex import tree
from tokkit.unicode_regex.tree import Alt, Atomic, BackReference, Concat, Group, LookAround, Node, Repeat


def numbered(node: Node) -> Node:
    """Return a tree in which only groups with references are left, numbered from 1 on in their order."""
    used: set[int] = set()
    order: list[int] = []
    _collect(node, used, order)
    return _renumbered(node, {number: k + 1 for k, number in enumerate(n for n in order if n in used)})


def _collect(node: Node, used: set[int], order: list[int]) -> None:
    if isinstance(node, BackReference):
        used.add(node.number)
    if isinstance(node, Group):
        order.append(node.number)
    for child in tree.children(node):
        _collect(child, used, order)


def _renumbered(node: Node, numbers: dict[int, int]) -> Node:
    if isinstance(node, BackReference):
        return BackReference(numbers[node.number])
    if isinstance(node, Group):
        inner = _renumbered(node.node, numbers)
        return Group(numbers[node.number], inner) if node.number in numbers else inner
    if isinstance(node, Concat):
        return tree.concat(_renumbered(part, numbers) for part in node.parts)
    if isinstance(node, Alt):
        return tree.alt(_renumbered(option, numbers) for option in node.options)
    if isinstance(node, (Repeat, Atomic, LookAround)):
        return replace(node, node=_renumbered(node.node, numbers))
    return node
