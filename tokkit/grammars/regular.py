"""Regular expressions as nodes of a grammar."""

from __future__ import annotations

from tokkit.errors import GrammarError
from tokkit.grammars import nodes
from tokkit.unicode_regex import syntax, tree
from tokkit.unicode_regex.code_points import ALL
from tokkit.unicode_regex.cost_limits import check_size, quoted
from tokkit.unicode_regex.dialects import ECMA

ANY = nodes.many(nodes.Chars(ALL))


def regular(pattern: str, *, search: bool = False) -> nodes.Node:
    """Return the node of all texts that a pattern matches, in the syntax of the `regex` package.

    With `search`, of those that have a match somewhere, in ECMAScript's syntax, as in JSON schemas. GrammarError names
    unsupported syntax and its position.
    """
    if not isinstance(pattern, str):
        raise GrammarError(f"a pattern is {pattern!r}; it must be a str")
    check_size(pattern)
    start = tree.Look(ALL, True)  # a separate node, compared by `is`
    try:
        parsed = syntax.parse(pattern, dialect=ECMA if search else None, start=start)
        return _Translation(start, search=search).whole(parsed)
    except tree.NotRegular as error:
        raise GrammarError(f"the pattern {quoted(pattern)} is not supported: {error}") from None


class _Translation:
    def __init__(self, start: tree.Look, *, search: bool) -> None:
        self._start, self._search = start, search

    def whole(self, node: tree.Node) -> nodes.Node:
        """Translate a pattern, in which `^` and `$` may be at its ends or at those of its alternatives."""
        if isinstance(node, tree.Alt):
            return nodes.one_of(*map(self.whole, node.options))
        parts = list(node.parts) if isinstance(node, tree.Concat) else [node]
        begins = ends = False
        while parts and parts[0] is self._start:
            begins, parts = True, parts[1:]
        while parts and parts[-1] is tree.END:
            ends, parts = True, parts[:-1]
        if len(parts) == 1 and isinstance(parts[0], tree.Alt):
            inner = _Translation(self._start, search=False).whole(parts[0]) if begins and ends else None
            made = [inner or self.part(parts[0])]
        else:
            made = [self.part(part) for part in parts]
        if self._search:
            made = [*([] if begins else [ANY]), *made, *([] if ends else [ANY])]
        return nodes.sequence(*made)

    def part(self, node: tree.Node) -> nodes.Node:
        if isinstance(node, tree.Chars):
            return nodes.Chars(node.points)
        if isinstance(node, tree.Alt):
            return nodes.one_of(*map(self.part, node.options))
        if isinstance(node, tree.Concat):
            return nodes.sequence(*map(self.part, node.parts))
        if isinstance(node, tree.Repeat):
            if node.kind == "possessive":
                raise tree.NotRegular("a possessive repeat")
            return nodes.Repeat(self.part(node.node), node.minimum, node.maximum)
        if isinstance(node, tree.Atomic):
            raise tree.NotRegular("an atomic group")
        if node is self._start or node is tree.END:
            raise tree.NotRegular("'^' or '$' inside the pattern")
        raise tree.NotRegular("a place in the text, a look-ahead or a look-behind")
