"""Builds a precompiled_charsmap from rules: strings and their replacements, as a double array with shared suffixes.

The format is that of Darts (csrc/text/charsmap.h). First, nodes of the trie with equal subtrees are merged. Then the
children of each node are placed in free units, with a different base for each node.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from tokkit._core.charsmap import Charsmap
from tokkit.errors import OptionError

_LEAF_BELOW, _VALUE = 1 << 8, 1 << 31
_OFFSET_SHIFT, _MAX_UNITS = 10, 1 << 21
_BLOCK, _ALL = 256, (1 << 256) - 1
_MAX_BYTES, _MAX_RULES = 256, 1 << 20
_OPEN_BLOCKS = 16
"""Number of the last blocks with free units that a node tries: more blocks give a smaller map, but a slower build."""
_EVERY_OTHER = [sum(1 << i for i in range(_BLOCK) if not i >> bit & 1) for bit in range(8)]

Node = tuple[int, tuple[tuple[int, int], ...]]
"""(Index of the string that ends here or -1, (byte, number of the child node) in order)."""


def compile_rules(rules: Mapping[str, str]) -> bytes:
    """Return the map that replaces each text by `rules[text]`, the longest match first; b"" without rules.

    OptionError for an empty text, or for NUL, which ends strings in a map.

    >>> from tokkit._core.charsmap import Normalizer
    >>> map_ = compile_rules({"a": "A", "ab": "x", "c": ""})
    >>> Normalizer(map_, add_prefix=False, remove_extra=False, escape=False).normalize("aabcb")
    b'Axb'
    """
    if not rules:
        return b""
    strings, places = bytearray(), dict[str, int]()
    keys = []
    for source, target in rules.items():
        if not source or "\0" in source or "\0" in target:
            raise OptionError(
                f"the rule {source!r} → {target!r}: the text to replace must have at least one character, and no NUL"
            )
        if target not in places:
            places[target] = len(strings)
            strings += target.encode() + b"\0"
        keys.append((source.encode(), places[target]))
    units = _placed(*_small_trie(sorted(keys)))
    if len(units) > _MAX_UNITS:
        raise OptionError(f"the rules make {len(units)} units; a map has at most {_MAX_UNITS}")
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + bytes(strings)


def _small_trie(keys: list[tuple[bytes, int]]) -> tuple[list[Node], int]:
    """Return the nodes of the minimal trie of sorted keys, and the number of the root."""
    nodes: list[Node] = []
    numbers: dict[Node, int] = {}

    def number_of(node: Node) -> int:
        if node not in numbers:
            numbers[node] = len(nodes)
            nodes.append(node)
        return numbers[node]

    # The path to the last key: for each node, (index of the string that ends there, finished children).
    path: list[tuple[int, list[tuple[int, int]]]] = [(-1, [])]
    last = b""

    def close(depth: int) -> None:
        while len(path) > depth + 1:
            value, children = path.pop()
            path[-1][1].append((last[len(path) - 1], number_of((value, tuple(children)))))

    for key, place in keys:
        shared = 0
        while shared < min(len(last), len(key)) and last[shared] == key[shared]:
            shared += 1
        close(shared)
        path += [(-1, []) for _ in key[shared:]]
        path[-1] = (place, path[-1][1])
        last = key
    close(0)
    return nodes, number_of((-1, tuple(path[0][1])))


def _mirrored(mask: int, byte: int) -> int:
    """Return the mask with bit i at i ^ byte."""
    for bit in range(8):
        if byte >> bit & 1:
            low = _EVERY_OTHER[bit]
            mask = (mask & low) << (1 << bit) | mask >> (1 << bit) & low
    return mask


def _placed(nodes: list[Node], root: int) -> list[int]:
    """Return the units of the double array."""
    units = [0] * _BLOCK
    free, bases = [_ALL & ~1], [_ALL & ~1]  # the root is at 0, so no children can have base 0
    where: dict[int, int] = {}

    def room_for(labels: list[int]) -> int:
        for block in [*range(max(0, len(free) - _OPEN_BLOCKS), len(free)), len(free)]:
            if block == len(free):
                free.append(_ALL)
                bases.append(_ALL)
                units.extend([0] * _BLOCK)
            fits = bases[block]
            for label in labels:
                fits &= _mirrored(free[block], label)
                if not fits:
                    break
            if fits:
                at = (fits & -fits).bit_length() - 1
                bases[block] ^= 1 << at
                for label in labels:
                    free[block] ^= 1 << (at ^ label)
                return int(block * _BLOCK + at)
        raise OptionError("no room")  # cannot happen: a new block has room

    # Nodes with many children first, because they need more free units at once.
    for number in sorted(range(len(nodes)), key=lambda number: -len(nodes[number][1])):
        value, children = nodes[number]
        where[number] = room_for([*([0] if value >= 0 else []), *(byte for byte, _ in children)])
    for number, (value, children) in enumerate(nodes):
        base = where[number]
        if value >= 0:
            units[base] = _VALUE | value
        for byte, below in children:
            at = base ^ byte
            leaf = _LEAF_BELOW if nodes[below][0] >= 0 else 0
            units[at] = (at ^ where[below]) << _OFFSET_SHIFT | leaf | byte
    units[0] = where[root] << _OFFSET_SHIFT
    # An unused unit must not look like a child with the label 0.
    for at in range(len(units)):
        if at and free[at // _BLOCK] >> at % _BLOCK & 1:
            units[at] = _VALUE
    return units


def decompile(charsmap: bytes) -> list[tuple[str, str]]:
    """Return the rules of a map as (text, replacement), sorted by bytes; OptionError for a map with a cycle.

    >>> decompile(compile_rules({"a": "A", "ab": "x"}))
    [('a', 'A'), ('ab', 'x')]
    """
    if not charsmap:
        return []
    Charsmap(charsmap)  # checks the map
    n = int.from_bytes(charsmap[:4], "little") // 4
    units = struct.unpack_from(f"<{n}I", charsmap, 4)
    strings = charsmap[4 + 4 * n :] + b"\0"  # the last one may lack its end
    below: dict[int, list[tuple[int, int]]] = {}
    for at, unit in enumerate(units):
        byte = unit & (_VALUE | 0xFF)
        if at and 0 < byte <= 0xFF:  # a unit can only be the child with this label of the node with this base
            below.setdefault(at ^ byte, []).append((at, byte))
    found: list[tuple[bytes, bytes]] = []
    stack = [(b"", _offset(units[0]))]
    while stack:
        key, base = stack.pop()
        if len(key) > _MAX_BYTES or len(found) > _MAX_RULES:
            raise OptionError(f"the map has rules of more than {_MAX_BYTES} bytes, or more than {_MAX_RULES}")
        for at, byte in below.get(base, ()):
            longer, next_base = key + bytes([byte]), at ^ _offset(units[at])
            stack.append((longer, next_base))
            if units[at] & _LEAF_BELOW:
                place = units[next_base] & ~_VALUE
                found.append((longer, strings[place : strings.index(b"\0", place)]))
    return [(key.decode(errors="replace"), value.decode()) for key, value in sorted(found)]


def begins(charsmap: bytes, text: str) -> bool:
    """Return whether a rule of a map begins with a text.

    >>> begins(compile_rules({"ab": "x"}), "a"), begins(compile_rules({"ab": "x"}), "b")
    (True, False)
    """

    def unit(at: int) -> int:
        return int.from_bytes(charsmap[4 * at + 4 : 4 * at + 8], "little")

    n = int.from_bytes(charsmap[:4], "little") // 4
    at = 0
    for byte in text.encode() if n else b"":
        at ^= _offset(unit(at)) ^ byte
        if at >= n or unit(at) & (_VALUE | 0xFF) != byte:
            return False
    return n > 0


def _offset(unit: int) -> int:
    return unit >> _OFFSET_SHIFT << (8 if unit & 1 << 9 else 0)
