"""BPE over characters as GGUF files run it: pieces are joined as text, and those without a token become bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise


def encode(
    text: str, ids: Mapping[str, int], merges: Sequence[tuple[str, str]], *, whole_newlines: bool, spaces: bool = True
) -> list[int]:
    """Return the ids of a text without added tokens; each line, and each run of newlines, is one piece."""
    text = text.replace(" ", "▁") if spaces else text
    return [id_ for line in re.findall(r"[^\n]+|\n+", text) for id_ in piece(line, ids, merges, whole_newlines)]


def piece(text: str, ids: Mapping[str, int], merges: Sequence[tuple[str, str]], whole_newlines: bool) -> list[int]:
    """Return the ids of one piece: the earliest merge in the list comes first, then the leftmost."""
    if whole_newlines and not text.strip("\n") and text in ids:
        return [ids[text]]
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
    parts = list(text)
    while pairs := [(ranks[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in ranks]:
        _, i = min(pairs)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    found: list[int] = []
    for part in parts:
        names = [part] if part in ids else [f"<0x{byte:02X}>" for byte in part.encode()]
        found += [ids[name] for name in names if name in ids]
    return found
