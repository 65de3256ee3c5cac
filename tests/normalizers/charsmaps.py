"""Builds a precompiled_charsmap in the simplest way: a block of 256 units for each node."""

from __future__ import annotations

import struct

LEAF_BELOW = 1 << 8
FAR = 1 << 9
VALUE = 1 << 31
BLOCK = 256


def charsmap(strings: dict[bytes, bytes]) -> bytes:
    """Node n, 0 at the root, has its children in units[(n + 1) * 256:][:256], by their bytes, and its value at 0."""
    nodes: list[dict[int, int]] = [{}]
    values: dict[int, int] = {}
    pool = b""
    for key, value in strings.items():
        node = 0
        for byte in key:
            if byte not in nodes[node]:
                nodes[node][byte] = len(nodes)
                nodes.append({})
            node = nodes[node][byte]
        values[node] = len(pool)
        pool += value + b"\0"
    units = [0] * (BLOCK * (len(nodes) + 1))
    units[0] = pointer(0, BLOCK)
    for node, children in enumerate(nodes):
        base = BLOCK * (node + 1)
        if node in values:
            units[base] = VALUE | values[node]
        for byte, child in children.items():
            at = base ^ byte
            units[at] = pointer(at, BLOCK * (child + 1)) | byte | (LEAF_BELOW if child in values else 0)
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + pool


def pointer(at: int, to: int) -> int:
    """The offset of a unit: 22 bits; one that is too large for them is in blocks."""
    offset = at ^ to
    if offset < 1 << 21:
        return offset << 10
    raise ValueError("too many nodes")
