"""Compiles a pattern's tree to a deterministic automaton that finds the same match as `regex`: the first by priority.

States are ordered lists of threads. A thread is (mask, node): if the next character's class is in `mask`, the thread
continues at `node`; if `node` is MATCHED, the pattern has matched there. The order is the order in which a backtracking
engine would try, so a thread after a match on the same class can never win and is removed. A look-ahead of one
character only narrows masks, and the end of the text is a class like any other. For look-behinds, classes of the
character before are in one context if no look-behind tells them apart; each context has its own states.

Possessive quantifiers and atomic groups restrict backtracking. They are compiled if one character decides: `[ab]++`
continues while there are a's and b's, and ends only if there are none.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.unicode_regex import syntax
from tokkit.unicode_regex.code_points import LIMIT, CodePoints
from tokkit.unicode_regex.tree import (
    Alt,
    Atomic,
    Chars,
    Concat,
    Keep,
    Look,
    LookAround,
    LookBehind,
    Node,
    NotRegular,
    Repeat,
    behinds_of,
    nullable,
    sets_of,
)

MATCH, MATCHED = 0, -1
MAX_NODES = 20_000
MAX_STATES = 4_000
MAX_STEPS = 2_000_000
"""Limits of the construction, about a second of work. The `regex` package runs patterns beyond them."""
MAX_REPEATS = 1000
MAX_CLASSES = 254
MAX_CONTEXTS = 16
MAX_STRINGS = 64
Thread = tuple[int, int]


class Classes(NamedTuple):
    """Classes of characters: code points that are in the same sets of a pattern share a class."""

    bounds: NDArray[np.int64]  # first code point of each run of one class, from 0
    numbers: NDArray[np.uint8]  # the class of each run
    n: int
    masks: dict[CodePoints, int]  # set → bit mask of its classes


class Contexts(NamedTuple):
    """What look-behinds tell apart: 0 is the start of the text, which some classes may share."""

    of_class: NDArray[np.uint8]  # the context after a character of each class
    n: int
    masks: dict[LookBehind, int]  # look-behind → bit mask of the contexts in which it holds


class Automaton(NamedTuple):
    """The automaton as tables. Rows are states; columns are classes, the last is the end.

    The first `contexts.n` states have consumed nothing, each in its context.
    """

    next: NDArray[np.int32]  # (states, classes): next state, -1 for none
    final: NDArray[np.bool_]  # (states, classes): a match ends before a character of this class
    classes: Classes
    contexts: Contexts
    state_contexts: NDArray[np.uint8]  # the context of each state


def classes_of(sets: set[CodePoints]) -> Classes:
    """Return the coarsest partition of code points in which every set is a union of classes."""
    ordered = sorted(sets, key=lambda points: points.key)
    bounds = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *(points.bounds for points in ordered)]))
    bounds = bounds[bounds < LIMIT]
    member = np.array([points.at(bounds) for points in ordered], dtype=np.bool_).reshape(len(ordered), len(bounds))
    packed = np.packbits(member, axis=0).T
    numbers: dict[bytes, int] = {}
    runs = [numbers.setdefault(row.tobytes(), len(numbers)) for row in packed]
    if len(numbers) > MAX_CLASSES:
        raise NotRegular(f"it has {len(numbers)} classes of characters; the limit is {MAX_CLASSES}")
    bits = np.packbits(member[:, np.unique(runs, return_index=True)[1]], axis=1, bitorder="little")
    masks = {points: int.from_bytes(row.tobytes(), "little") for points, row in zip(ordered, bits, strict=True)}
    return Classes(bounds, np.array(runs, dtype=np.uint8), len(numbers), masks)


def contexts_of(behinds: set[LookBehind], classes: Classes) -> Contexts:
    """Return the coarsest partition of the start of the text and the classes that decides every look-behind."""
    ordered = sorted(behinds, key=lambda behind: (behind.points.key, behind.start))
    numbers = {tuple(behind.start for behind in ordered): 0}
    columns = [
        tuple(bool(classes.masks[behind.points] >> column & 1) for behind in ordered) for column in range(classes.n)
    ]
    of_class = [numbers.setdefault(column, len(numbers)) for column in columns]
    if len(numbers) > MAX_CONTEXTS:
        raise NotRegular(f"its look-behinds tell {len(numbers)} kinds of characters apart; the limit is {MAX_CONTEXTS}")
    masks = {
        behind: sum(1 << number for values, number in numbers.items() if values[k]) for k, behind in enumerate(ordered)
    }
    return Contexts(np.array(of_class, dtype=np.uint8), len(numbers), masks)


@functools.lru_cache(maxsize=64)
def of_pattern(pattern: str) -> Automaton:
    """Return the automaton of a pattern; NotRegular, with the reason, if only the `regex` package can run it."""
    return build(syntax.parse(pattern))


def build(tree: Node) -> Automaton:
    """Return the automaton of a pattern; NotRegular if it can match the empty text or cannot be compiled exactly."""
    try:
        return _Builder(tree).automaton()
    except RecursionError:
        raise NotRegular("its parts are nested too deep") from None


class _Builder:
    def __init__(self, tree: Node) -> None:
        self.classes = classes_of(sets_of(tree))
        self.contexts = contexts_of(behinds_of(tree), self.classes)
        self.graph = _Graph(self.classes, self.contexts)
        first = self.graph.add(tree, MATCH, True)
        # These states have consumed nothing. The same threads after at least one character are different states.
        self.queue = [(context, self.graph.closure(first, context)) for context in range(self.contexts.n)]
        if any(node == MATCHED for _, threads in self.queue for _, node in threads):
            raise NotRegular("it can match the empty text")
        self.states: dict[tuple[int, tuple[Thread, ...]], int] = {}
        self.made: dict[tuple[int, tuple[int, ...]], int] = {}
        columns = self.contexts.of_class.tolist()
        self.masks = [sum(1 << k for k, found in enumerate(columns) if found == c) for c in range(self.contexts.n)]

    def automaton(self) -> Automaton:
        rows: list[list[int]] = []
        finals: list[list[bool]] = []
        steps = 0
        for _, threads in self.queue:
            row, final = [-1] * (self.classes.n + 1), [False] * (self.classes.n + 1)
            for mask, nodes in _grouped(threads, self.graph.everything):
                steps += 1 + len(nodes)
                ends = bool(nodes) and nodes[-1] == MATCHED
                nodes = nodes[:-1] if ends else nodes
                for context, own in enumerate(self.masks):
                    state = self.state(context, nodes) if nodes and mask & own else -1
                    for column in _bits(mask & own):
                        row[column], final[column] = state, ends
                if mask & self.graph.end:
                    final[-1] = ends
            rows.append(row)
            finals.append(final)
            if len(self.queue) > MAX_STATES or steps + self.graph.steps > MAX_STEPS:
                raise NotRegular(f"its automaton is too large: over {len(rows)} states")
        return Automaton(
            np.array(rows, dtype=np.int32),
            np.array(finals, dtype=np.bool_),
            self.classes,
            self.contexts,
            np.array([context for context, _ in self.queue], dtype=np.uint8),
        )

    def state(self, context: int, nodes: tuple[int, ...]) -> int:
        """Return the state of threads that continue at nodes after a character of a context, -1 for none."""
        state = self.made.get((context, nodes))
        if state is None:
            following = self.graph.merged(nodes, context)
            if following and (context, following) not in self.states:
                self.states[context, following] = len(self.queue)
                self.queue.append((context, following))
            state = self.made[context, nodes] = self.states.get((context, following), -1)
        return state


def _grouped(threads: tuple[Thread, ...], everything: int) -> list[tuple[int, tuple[int, ...]]]:
    """Return (mask, nodes): the classes on which threads continue, and at which nodes, in order, up to a match."""
    groups: list[tuple[int, tuple[int, ...]]] = [(everything, ())]
    for mask, node in threads:
        split: list[tuple[int, tuple[int, ...]]] = []
        for group, nodes in groups:
            if inside := group & mask:
                split.append((inside, (*nodes, node)))
            if outside := group & ~mask:
                split.append((outside, nodes))
        groups = split
    return groups


def _bits(mask: int) -> list[int]:
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


class _Graph:
    """The nodes of all threads: what each consumes, and where it continues. Node 0 is MATCH."""

    def __init__(self, classes: Classes, contexts: Contexts) -> None:
        self.classes, self.contexts = classes, contexts
        self.end = 1 << classes.n
        self.everything = (self.end << 1) - 1
        # A node is ("chars" | "look" | "behind", mask, next) or ("split", options in order).
        self.nodes: list[tuple[str, int, tuple[int, ...]]] = [("match", 0, ())]
        self.closures: dict[tuple[int, int], tuple[Thread, ...]] = {}
        self.steps = 0

    def node(self, kind: str, mask: int, following: tuple[int, ...]) -> int:
        if len(self.nodes) >= MAX_NODES:
            raise NotRegular(f"it has over {MAX_NODES} parts after repeats are expanded")
        self.nodes.append((kind, mask, following))
        return len(self.nodes) - 1

    def mask(self, node: Chars | Look) -> int:
        mask = self.classes.masks[node.points]
        return mask | self.end if isinstance(node, Look) and node.end else mask

    def add(self, node: Node, following: int, last: bool) -> int:
        """Add nodes that match `node` and continue at `following`; `last`: only the end of the match follows."""
        if isinstance(node, Chars):
            return self.node("chars", self.mask(node), (following,))
        if isinstance(node, Look):
            return self.node("look", self.mask(node), (following,))
        if isinstance(node, LookBehind):
            return self.node("behind", self.contexts.masks[node], (following,))
        if isinstance(node, Alt):
            return self.node("split", 0, tuple(self.add(option, following, last) for option in node.options))
        if isinstance(node, Concat):
            for k in range(len(node.parts) - 1, -1, -1):
                following = self.add(node.parts[k], following, last and k == len(node.parts) - 1)
            return following
        if isinstance(node, Atomic):
            return self.atomic(node.node, following, last)
        if not isinstance(node, Repeat):
            raise NotRegular(_reason(node))
        if max(node.minimum, node.maximum or 0) > MAX_REPEATS:
            raise NotRegular(f"more than {MAX_REPEATS} repeats")
        if node.kind != "possessive":
            return self.repeat(node, following, last, node.kind == "greedy")
        return self.atomic(Repeat(node.node, node.minimum, node.maximum, "greedy"), following, last)

    def repeat(self, node: Repeat, following: int, last: bool, greedy: bool, leave: int | None = None) -> int:
        """Add a repeat; with `leave`, it ends before its maximum only if the next class is in that mask."""
        if nullable(node.node) and node.minimum != node.maximum:
            raise NotRegular("a repeat of what can match the empty text")
        exits = following if leave is None else self.node("look", leave, (following,))

        def choice(inside: int) -> tuple[int, ...]:
            return (inside, exits) if greedy else (exits, inside)

        if node.maximum is None:
            loop = self.node("split", 0, ())
            self.nodes[loop] = ("split", 0, choice(self.add(node.node, loop, False)))
            entry = loop
        else:
            entry = following
            for _ in range(node.maximum - node.minimum):
                inside = self.add(node.node, entry, last and entry == following)
                entry = self.node("split", 0, choice(inside))
        for _ in range(node.minimum):
            entry = self.add(node.node, entry, last and entry == following)
        return entry

    def atomic(self, node: Node, following: int, last: bool) -> int:
        """Add an atomic group, which keeps only its first match; NotRegular if one character does not decide it."""
        if last or _single(node):
            return self.add(node, following, last)
        if isinstance(node, Atomic):
            return self.atomic(node.node, following, last)
        if isinstance(node, Repeat) and node.kind == "possessive":
            return self.atomic(Repeat(node.node, node.minimum, node.maximum, "greedy"), following, last)
        if isinstance(node, Repeat) and node.kind == "greedy" and isinstance(node.node, Chars):
            return self.repeat(node, following, last, True, self.everything & ~self.mask(node.node))
        if isinstance(node, Concat) and node.parts and all(map(_single, node.parts[:-1])):
            following = self.atomic(node.parts[-1], following, last)
            return self.add(Concat(node.parts[:-1]), following, False)
        if isinstance(node, Alt):
            first = [self.first(option) for option in node.options]
            if all(not a & b for k, a in enumerate(first) for b in first[:k]):
                return self.node("split", 0, tuple(self.atomic(option, following, last) for option in node.options))
        raise NotRegular("an atomic group or possessive repeat of more than single characters")

    def first(self, node: Node) -> int:
        """Return the classes with which a node may begin; all of them if it can match the empty text."""
        if isinstance(node, Chars):
            return self.mask(node)
        if isinstance(node, Alt):
            first = 0
            for option in node.options:
                first |= self.first(option)
            return first
        if isinstance(node, Concat) and node.parts and not nullable(node.parts[0]):
            return self.first(node.parts[0])
        if isinstance(node, (Repeat, Atomic)) and not nullable(node):
            return self.first(node.node)
        return self.everything

    def closure(self, node: int, context: int) -> tuple[Thread, ...]:
        """Return the threads with which a node begins in a context, in order."""
        found = self.closures.get((node, context))
        if found is None:
            threads: list[Thread] = []
            self.visit(node, context, threads)
            self.closures[node, context] = found = self.cut(threads)
        return found

    def visit(self, start: int, context: int, threads: list[Thread]) -> None:
        stack, seen = [(start, self.everything)], dict[int, int]()
        while stack:
            node, mask = stack.pop()
            mask &= ~seen.get(node, 0)  # the earlier thread has priority
            if not mask:
                continue
            self.steps += 1
            seen[node] = seen.get(node, 0) | mask
            kind, own, following = self.nodes[node]
            if kind == "match":
                threads.append((mask, MATCHED))
            elif kind == "chars":
                threads.append((mask & own, following[0]))
            elif kind == "look":
                stack.append((following[0], mask & own))
            elif kind == "behind":
                if own >> context & 1:
                    stack.append((following[0], mask))
            else:
                stack.extend((option, mask) for option in reversed(following))

    def cut(self, threads: list[Thread]) -> tuple[Thread, ...]:
        """Remove threads that repeat an earlier one, or that can never win because a match comes before them."""
        taken: dict[int, int] = {}
        matched = 0
        kept: list[Thread] = []
        for mask, node in threads:
            mask &= ~(taken.get(node, 0) | matched)
            if mask:
                kept.append((mask, node))
                taken[node] = taken.get(node, 0) | mask
                if node == MATCHED:
                    matched |= mask
        return tuple(kept)

    def merged(self, nodes: tuple[int, ...], context: int) -> tuple[Thread, ...]:
        """Return the threads of several nodes in a context, in the order of the nodes."""
        threads = [thread for node in nodes for thread in self.closure(node, context)]
        self.steps += len(threads)
        return self.cut(threads)


def _reason(node: Node) -> str:
    """Return why a node has no automaton."""
    if isinstance(node, LookAround):
        return ("a look-ahead", "a look-behind")[node.behind] + " of more than one character"
    return r"\K" if isinstance(node, Keep) else "a back-reference"


def _single(node: Node) -> bool:
    """Return whether a node has at most one match from any position, so that making it atomic changes nothing."""
    if isinstance(node, (Chars, Look, LookBehind)):
        return True
    if isinstance(node, Concat):
        return all(map(_single, node.parts))
    if isinstance(node, Repeat):
        return node.minimum == node.maximum and _single(node.node)
    if isinstance(node, Atomic):
        return _single(node.node)
    if not isinstance(node, Alt):
        return False
    texts = [_strings(option) for option in node.options]
    flat = [text for found in texts if found for text in found]
    return all(texts) and not any(_overlap(a, b) for k, a in enumerate(flat) for b in flat[:k])


def _strings(node: Node) -> list[tuple[CodePoints, ...]] | None:
    """Return the sequences of sets that a node matches, None if there are too many or it is not a list of them."""
    if isinstance(node, Chars):
        return [(node.points,)]
    if isinstance(node, Alt):
        found = [_strings(option) for option in node.options]
        joined = [text for texts in found if texts is not None for text in texts]
        return joined if None not in found and len(joined) <= MAX_STRINGS else None
    if isinstance(node, Concat):
        joined = [()]
        for part in node.parts:
            texts = _strings(part)
            if texts is None or len(joined) * len(texts) > MAX_STRINGS:
                return None
            joined = [a + b for a in joined for b in texts]
        return joined
    return None


def _overlap(a: tuple[CodePoints, ...], b: tuple[CodePoints, ...]) -> bool:
    """Return whether a text of one sequence may begin with a text of the other."""
    return all((x & y).bounds.size for x, y in zip(a, b, strict=False))
