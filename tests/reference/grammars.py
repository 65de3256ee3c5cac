"""Which tokens a grammar allows next, by matching each one's bytes against the rules from the start."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence

import numpy as np

from tokkit.grammars.nodes import Call, Chars, Node, OneOf, Repeat, Rules, Texts
from tokkit.unicode_regex.code_points import CodePoints


@functools.cache
def begins_a_member(points: CodePoints, tail: bytes) -> bool:
    """Whether part of a character begins the UTF-8 of a member; those that it may begin are a range of code points."""
    length = 2 if tail[0] < 0xE0 else 3 if tail[0] < 0xF0 else 4
    value = functools.reduce(lambda made, byte: made << 6 | byte & 0x3F, tail[1:], tail[0] & 0x7F >> length)
    low, high = (part << 6 * max(length - len(tail), 0) for part in (value, value + 1))
    range_ = np.arange(low, min(high, 0x110000))
    return any(chr(c).encode("utf-8", "replace").startswith(tail) for c in range_[points.at(range_)])


class Naive:
    """Matches whole texts and beginnings of texts, as bytes, against rules each part of which some text is."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def ends(self, node: Node, data: bytes, i: int) -> tuple[set[int], bool]:
        """Where matches from i on end, and whether the data is a beginning of a longer match."""
        if isinstance(node, Call):
            return self.ends(self.rules.rules[node.rule], data, i)
        if isinstance(node, Texts):
            texts = [text.encode() for text in node.texts]
            found = {i + len(text) for text in texts if data.startswith(text, i)}
            return found, any(len(text) > len(data) - i and text.startswith(data[i:]) for text in texts)
        if isinstance(node, Chars):
            return self.character(node, data, i)
        if isinstance(node, OneOf):
            every = [self.ends(option, data, i) for option in node.options]
            return set().union(*(found for found, _ in every)), any(more for _, more in every)
        if isinstance(node, Repeat):
            return self.repeated(node, data, i)
        places, goes_on = {i}, False
        for part in node.parts:
            every = [self.ends(part, data, place) for place in places]
            places = set().union(*(found for found, _ in every))
            goes_on |= any(more for _, more in every)
        return places, goes_on

    def repeated(self, node: Repeat, data: bytes, i: int) -> tuple[set[int], bool]:
        found, places, goes_on, times = set(), {i}, False, 0
        while places and not (times > node.minimum and places <= found):
            found |= places if times >= node.minimum else set()
            if times == node.maximum:
                break
            every = [self.ends(node.node, data, place) for place in places]
            places, times = set().union(*(more for more, _ in every)), times + 1
            goes_on |= any(more for _, more in every)
        return found, goes_on

    def character(self, node: Chars, data: bytes, i: int) -> tuple[set[int], bool]:
        tail = data[i : i + 4]
        if not tail:
            return set(), node.points.bounds.size > 0
        for n in range(1, len(tail) + 1):
            with contextlib.suppress(UnicodeDecodeError):
                return ({i + n} if ord(tail[:n].decode()) in node.points else set()), False
        return set(), begins_a_member(node.points, tail)

    def state(self, data: bytes) -> tuple[bool, bool]:
        """Whether the data is a whole text, and whether it is the beginning of a longer one."""
        found, goes_on = self.ends(self.rules.rules[self.rules.start], data, 0)
        return len(data) in found, goes_on

    def allowed(self, data: bytes, tokens: Sequence[bytes]) -> set[int]:
        """The numbers of tokens that may follow the data; those without bytes never do."""
        return {i for i, token in enumerate(tokens) if token and any(self.state(data + token))}
