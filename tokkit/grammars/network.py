"""Builds the automata of a grammar's rules: nodes with byte edges, and jumps to nodes or through other rules.

Nodes that lead to no text are removed, so that each reachable state can be completed. Left recursion is an error,
because the stack of open rules would grow without end.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.grammars import NO_RULE
from tokkit.errors import GrammarError
from tokkit.grammars.nodes import Call, Chars, Node, OneOf, Repeat, Rules, Texts
from tokkit.grammars.utf8_ranges import Range, byte_ranges
from tokkit.unicode_regex.code_points import CodePoints

INLINE = 4
"""The maximum number of byte ranges of an inlined set; larger sets become rules."""
MAX_DEPTH = 200
"""The maximum nesting of parts in one rule."""


@dataclass(frozen=True, slots=True)
class Network:
    """The arrays of csrc/grammars/network.h, in the same order."""

    first_edge: NDArray[np.uint32]
    first_jump: NDArray[np.uint32]
    low: NDArray[np.uint8]
    high: NDArray[np.uint8]
    target: NDArray[np.uint32]
    entry: NDArray[np.uint32]
    resume: NDArray[np.uint32]
    ends: NDArray[np.uint8]
    start: int
    class_of: NDArray[np.uint8]
    example: NDArray[np.uint8]


def build(rules: Rules, alphabet: CodePoints | None = None) -> Network:
    """Return the network of rules; with an alphabet, only of the texts in these characters.

    GrammarError if there is no text, for left recursion, or if the network is too large.
    """
    made = _Builder(rules, alphabet)
    for name in rules.rules:
        made.rule(name)
    _check_left_recursion(made, rules)
    alive = _productive(made)
    start = made.entries[rules.start]
    if start not in alive:
        raise GrammarError(_why_empty(made, rules, alive, alphabet))
    return _arrays(made, alive, start)


class _Builder:
    """Nodes of all rules, built from the last part to the first: the next node already exists."""

    def __init__(self, rules: Rules, alphabet: CodePoints | None) -> None:
        self._rules, self._alphabet = rules, alphabet
        self.edges: list[list[tuple[int, int, int]]] = []
        self.jumps: list[list[tuple[int, int]]] = []
        self.entries: dict[object, int] = {}
        self.exits: dict[object, int] = {}
        self.rule_of: dict[int, object] = {}
        self._limit = limits.current().pattern_size

    def node(self) -> int:
        if len(self.edges) >= self._limit:
            what = f"the grammar has more than {self._limit:,} nodes with its repeats expanded"
            raise limits.exceeded("pattern_size", what, GrammarError)
        self.edges.append([])
        self.jumps.append([])
        return len(self.edges) - 1

    def jump(self, *jumps: tuple[int, int]) -> int:
        made = self.node()
        self.jumps[made] += jumps
        return made

    def _entry(self, key: object) -> int:
        if key not in self.entries:
            self.entries[key], self.exits[key] = self.node(), self.node()
            self.rule_of[self.entries[key]] = key
        return self.entries[key]

    def rule(self, name: str) -> None:
        """Add the nodes of a rule."""
        entry = self._entry(name)
        self.jumps[entry].append((NO_RULE, self.add(self._rules.rules[name], self.exits[name])))

    def _shared(self, key: object, node: Node) -> int:
        """Return the entry of a rule without a name."""
        if key not in self.entries:
            entry = self._entry(key)
            self.jumps[entry].append((NO_RULE, self.add(node, self.exits[key])))
        return self.entries[key]

    def add(self, node: Node, following: int, depth: int = 0) -> int:
        """Return the start node for the texts of `node`, which end at `following`."""
        if depth > MAX_DEPTH:
            raise GrammarError(f"parts of the grammar are nested more than {MAX_DEPTH} deep")
        if isinstance(node, Chars):
            return self._chars(node.points, following)
        if isinstance(node, Texts):
            return self._texts(node.texts, following)
        if isinstance(node, Call):
            return self.jump((self._entry(node.rule), following))
        if isinstance(node, OneOf):
            return self.jump(*((NO_RULE, self.add(option, following, depth + 1)) for option in node.options))
        if isinstance(node, Repeat):
            return self._repeat(node, following, depth)
        for part in reversed(node.parts):
            following = self.add(part, following, depth + 1)
        return following

    def _repeat(self, node: Repeat, following: int, depth: int) -> int:
        copies = node.minimum if node.maximum is None else node.maximum
        simple = isinstance(node.node, Call) or copies + (node.maximum is None) <= 1

        def copy(after: int) -> int:
            if simple:
                return self.add(node.node, after, depth + 1)
            return self.jump((self._shared(node.node, node.node), after))

        if node.maximum is None:
            loop = self.node()
            self.jumps[loop] += [(NO_RULE, copy(loop)), (NO_RULE, following)]
            following = loop
        else:
            end = following
            for _ in range(node.maximum - node.minimum):
                following = self.jump((NO_RULE, copy(following)), (NO_RULE, end))
        for _ in range(node.minimum):
            following = copy(following)
        return following

    def _chars(self, points: CodePoints, following: int) -> int:
        if self._alphabet is not None:
            points = points & self._alphabet
        ranges = byte_ranges(points)
        if len(ranges) <= INLINE:
            return self._ranges(ranges, following, {})
        if points not in self.entries:
            entry = self._entry(points)
            self.jumps[entry].append((NO_RULE, self._ranges(ranges, self.exits[points], {})))
        return self.jump((self.entries[points], following))

    def _ranges(self, tails: Sequence[tuple[Range, ...]], following: int, known: dict[object, int]) -> int:
        key = tuple(tails)
        if key not in known:
            groups: dict[Range, list[tuple[Range, ...]]] = {}
            for first, *rest in tails:
                groups.setdefault(first, []).append(tuple(rest))
            made = known[key] = self.node()
            for (low, high), rests in groups.items():
                target = following if rests == [()] else self._ranges(rests, following, known)
                self.edges[made].append((low, high, target))
        return known[key]

    def _texts(self, texts: Iterable[str], following: int) -> int:
        if self._alphabet is not None:
            texts = [text for text in texts if all(ord(c) in self._alphabet for c in set(text))]
        root = self.node()
        children: dict[tuple[int, int], int] = {}
        try:
            every = sorted({text.encode() for text in texts})
        except UnicodeEncodeError as error:
            raise GrammarError(
                f"the text {error.object!r} of the grammar contains a lone surrogate, which is not a character"
            ) from None
        for encoded in every:
            at = root
            for byte in encoded:
                if (at, byte) not in children:
                    children[at, byte] = self.node()
                    self.edges[at].append((byte, byte, children[at, byte]))
                at = children[at, byte]
            self.jumps[at].append((NO_RULE, following))
        return root


def _check_left_recursion(made: _Builder, rules: Rules) -> None:
    """Raise GrammarError for left recursion."""
    nullable: set[int] = set()  # entries of rules that may match the empty text
    calls: dict[object, set[object]] = {}
    changed = True
    while changed:
        changed = False
        for key, entry in made.entries.items():
            seen, queue, found = {entry}, [entry], set()
            while queue:
                for callee, target in made.jumps[queue.pop()]:
                    if callee != NO_RULE:
                        found.add(made.rule_of[callee])
                        if callee not in nullable:
                            continue
                    if target not in seen:
                        seen.add(target)
                        queue.append(target)
            calls[key] = found
            if made.exits[key] in seen and entry not in nullable:
                nullable.add(entry)
                changed = True
    try:
        graphlib.TopologicalSorter(calls).prepare()
    except graphlib.CycleError as error:
        names = [rules.places.get(str(key), str(key)) for key in error.args[1] if isinstance(key, str)]
        where = " → ".join(dict.fromkeys(names)) or "a part"
        raise GrammarError(f"{where} refers to itself before any character (left recursion)") from None


def _productive(made: _Builder) -> set[int]:
    """Return the nodes from which the end of their rule can be reached."""
    waiting: dict[int, list[int]] = {}
    for node in range(len(made.edges)):
        for _, _, target in made.edges[node]:
            waiting.setdefault(target, []).append(node)
        for entry, target in made.jumps[node]:
            waiting.setdefault(target, []).append(node)
            if entry != NO_RULE:
                waiting.setdefault(entry, []).append(node)
    alive = set(made.exits.values())
    queue = list(alive)
    while queue:
        for node in waiting.get(queue.pop(), ()):
            if node not in alive and (
                any(target in alive for _, _, target in made.edges[node])
                or any(target in alive and (e == NO_RULE or e in alive) for e, target in made.jumps[node])
            ):
                alive.add(node)
                queue.append(node)
    return alive


def _why_empty(made: _Builder, rules: Rules, alive: set[int], alphabet: CodePoints | None) -> str:
    """Return an error that names the innermost named part that no text matches."""
    dead = [name for name in rules.rules if made.entries[name] not in alive]
    inner = next((name for name in dead if not _named_calls(rules.rules[name]) & set(dead)), rules.start)
    where = rules.places.get(inner, inner)
    if alphabet is not None:
        return f"no text satisfies {where} with the characters of the vocabulary"
    return f"no text satisfies {where}"


def _named_calls(node: Node) -> set[str]:
    if isinstance(node, Call):
        return {node.rule}
    if isinstance(node, (Chars, Texts)):
        return set()
    parts = (node.node,) if isinstance(node, Repeat) else node.options if isinstance(node, OneOf) else node.parts
    return set().union(*map(_named_calls, parts))


def _arrays(made: _Builder, alive: set[int], start: int) -> Network:
    edges = [sorted(edge for edge in made.edges[n] if edge[2] in alive) for n in range(len(made.edges))]
    jumps = [
        [jump for jump in made.jumps[n] if jump[1] in alive and (jump[0] == NO_RULE or jump[0] in alive)]
        for n in range(len(made.jumps))
    ]
    flat_edges = np.array([edge for some in edges for edge in some], dtype=np.uint32).reshape(-1, 3)
    flat_jumps = np.array([jump for some in jumps for jump in some], dtype=np.uint32).reshape(-1, 2)
    ends = np.zeros(len(edges), dtype=np.uint8)
    ends[list(made.exits.values())] = 1
    class_of, example = _classes(flat_edges[:, :2])
    return Network(
        first_edge=np.cumsum([0, *map(len, edges)], dtype=np.uint32),
        first_jump=np.cumsum([0, *map(len, jumps)], dtype=np.uint32),
        low=flat_edges[:, 0].astype(np.uint8),
        high=flat_edges[:, 1].astype(np.uint8),
        target=flat_edges[:, 2].copy(),
        entry=flat_jumps[:, 0].copy(),
        resume=flat_jumps[:, 1].copy(),
        ends=ends,
        start=start,
        class_of=class_of,
        example=example,
    )


def _classes(ranges: NDArray[np.uint32]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the class of each byte, and one byte of each class; bytes of one class are in the same ranges."""
    distinct = np.unique(ranges, axis=0)
    bytes_ = np.arange(256)
    member = (distinct[:, :1] <= bytes_) & (bytes_ <= distinct[:, 1:2])
    _, example, class_of = np.unique(np.packbits(member, axis=0), axis=1, return_index=True, return_inverse=True)
    return class_of.reshape(-1).astype(np.uint8), example.astype(np.uint8)
