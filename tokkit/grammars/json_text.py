"""The texts of JSON values as nodes: strings with escapes, objects, arrays, and white space between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from tokkit.errors import GrammarError
from tokkit.grammars import nodes
from tokkit.grammars.nodes import Call, Chars, Node, OneOf, Repeat, Texts, many, one_of, optional, sequence, text
from tokkit.grammars.number_ranges import NUMBER
from tokkit.unicode_regex.code_points import ALL, CodePoints

Whitespace = Literal["flexible", "compact", "spaced"]
CONTROLS = CodePoints.ranges([(0, 0x1F)])
PLAIN = ALL - CONTROLS - CodePoints.ranges([(0x22, 0x22), (0x5C, 0x5C)])
"""Characters that need no escape in strings."""
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPES = {chr(c): f"\\u{c:04x}" for c in range(0x20)} | SHORT
"""Characters that need an escape in strings → their escapes."""


def _set(*ranges: str) -> Node:
    return Chars(CodePoints.ranges((ord(each[0]), ord(each[-1])) for each in ranges))


_HEX = _set("09", "af", "AF")
_ESCAPE = sequence(
    text("\\"),
    one_of(
        _set('""', "\\\\", "//", "bb", "ff", "nn", "rr", "tt"),
        sequence(text("u"), _set("09", "ac", "AC", "ef", "EF"), Repeat(_HEX, 3, 3)),
        sequence(text("u"), _set("dd", "DD"), _set("07"), Repeat(_HEX, 2, 2)),
        # A character above U+FFFF is two escapes.
        sequence(
            text("u"), _set("dd", "DD"), _set("89", "ab", "AB"), Repeat(_HEX, 2, 2), text("\\u"), _set("dd", "DD"),
            _set("cf", "CF"), Repeat(_HEX, 2, 2),
        ),
    ),
)  # fmt: skip
CHARACTER, STRING, VALUE = Call("a character"), Call("a string"), Call("any JSON value")


class JsonText:
    """Creates nodes of JSON with one rule for white space; `rules` are the rules that the nodes call."""

    def __init__(self, whitespace: Whitespace) -> None:
        flexible = many(_set("  ", "\t\t", "\n\n", "\r\r"))
        after = {"flexible": flexible, "compact": text(""), "spaced": text(" ")}.get(whitespace)
        if after is None:
            raise GrammarError(f'whitespace is {whitespace!r}; it must be "flexible", "compact" or "spaced"')
        self.space = flexible if whitespace == "flexible" else text("")
        self.comma = sequence(self.space, text(","), after)
        self.colon = sequence(self.space, text(":"), after)
        self.rules: dict[str, Node] = {
            CHARACTER.rule: one_of(Chars(PLAIN), _ESCAPE),
            STRING.rule: sequence(text('"'), many(one_of(Chars(PLAIN), _ESCAPE)), text('"')),
            "a number": NUMBER,
            "an object": self.enclosed("{}", self.listed(self.member(STRING, VALUE))),
            "an array": self.enclosed("[]", self.listed(VALUE)),
            VALUE.rule: OneOf(
                (STRING, Call("a number"), Call("an object"), Call("an array"), Texts(("true", "false", "null")))
            ),
        }

    def enclosed(self, brackets: str, inside: Node) -> Node:
        """Return the contents of brackets, with white space at both ends."""
        return sequence(text(brackets[0]), self.space, inside, self.space, text(brackets[1]))

    def listed(self, item: Node, minimum: int = 0, maximum: int | None = None) -> Node:
        """Return items separated by commas."""
        if maximum == 0:
            return nodes.Sequence(()) if not minimum else OneOf(())
        more = Repeat(sequence(self.comma, item), max(minimum - 1, 0), None if maximum is None else maximum - 1)
        return sequence(item, more) if minimum else optional(sequence(item, more))

    def member(self, key: Node, value: Node) -> Node:
        """Return a member of an object."""
        return sequence(key, self.colon, value)

    def literal(self, value: Any) -> Node:
        """Return the text of a value, with objects in their order and only the required escapes in strings."""
        if isinstance(value, dict):
            members = [self.member(self.literal(key), self.literal(item)) for key, item in value.items()]
            return self.enclosed("{}", self.joined(members))
        if isinstance(value, list):
            return self.enclosed("[]", self.joined([self.literal(item) for item in value]))
        return text(json.dumps(value, ensure_ascii=False))

    def literals(self, values: Iterable[Any]) -> Node:
        """Return the texts of some values."""
        values = list(values)
        simple = tuple(json.dumps(value, ensure_ascii=False) for value in values if not isinstance(value, (dict, list)))
        nested = [self.literal(value) for value in values if isinstance(value, (dict, list))]
        return one_of(*([Texts(simple)] if simple else []), *nested) if values else OneOf(())

    def joined(self, items: Sequence[Node]) -> Node:
        """Return all items, separated by commas."""
        parts: list[Node] = []
        for item in items:
            parts += [self.comma, item] if parts else [item]
        return sequence(*parts)


def in_string(node: Node) -> Node:
    """Return the texts of a node as written in a JSON string, with only the required escapes."""
    if isinstance(node, Chars):
        escapes = tuple(escape for character, escape in ESCAPES.items() if ord(character) in node.points)
        plain = Chars(node.points & PLAIN)
        return one_of(plain, Texts(escapes)) if escapes else plain
    if isinstance(node, Texts):
        return Texts(tuple("".join(ESCAPES.get(c, c) for c in each) for each in node.texts))
    if isinstance(node, nodes.Sequence):
        return nodes.Sequence(tuple(map(in_string, node.parts)))
    if isinstance(node, OneOf):
        return OneOf(tuple(map(in_string, node.options)))
    if isinstance(node, Repeat):
        return Repeat(in_string(node.node), node.minimum, node.maximum)
    return node


def key_except(names: Sequence[str]) -> Node:
    """Return all strings except some names.

    Until a string differs from all names, only required escapes are allowed: another escape could spell a name.
    """
    spelt = {name: [ESCAPES.get(c, c) for c in name] for name in names}
    return sequence(text('"'), _differs([spelt[name] for name in dict.fromkeys(names)]), text('"'))


def _differs(rests: Sequence[Sequence[str]]) -> Node:
    """Return all ends of strings except `rests`, each a sequence of characters as written."""
    if not rests:
        return many(CHARACTER)
    following: dict[str, list[Sequence[str]]] = {}
    for rest in rests:
        if rest:
            following.setdefault(rest[0], []).append(rest[1:])
    taken = CodePoints.of(ord(c) for c in following if len(c) == 1)
    other = tuple(escape for escape in ESCAPES.values() if escape not in following)
    options: list[Node] = [sequence(one_of(Chars(PLAIN - taken), Texts(other)), many(CHARACTER))]
    options += [sequence(text(c), _differs(inner)) for c, inner in following.items()]
    if all(rests):
        options.append(text(""))
    return OneOf(tuple(options))
