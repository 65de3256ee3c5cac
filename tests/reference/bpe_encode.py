"""Byte-pair encoding of one pretoken by its definition, in quadratic time.

Rank BPE (tiktoken) joins any neighbours whose bytes together are a token; merge-list BPE (tokenizers) joins
only the pairs that its list names. Both take the best pair first and the leftmost of equals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def rank_bpe(piece: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """Return the ids of one piece; `ranks` maps token bytes to id, and the id is the rank."""
    if piece in ranks:
        return [ranks[piece]]
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while len(parts) > 1:
        joined = [ranks.get(parts[i] + parts[i + 1]) for i in range(len(parts) - 1)]
        candidates = [(rank, i) for i, rank in enumerate(joined) if rank is not None]
        if not candidates:
            break
        _, i = min(candidates)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return [ranks[part] for part in parts]


Merges = Sequence[tuple[int, int, int]]
Ranked = Mapping[tuple[int, int], tuple[int, int]]


def ranked(merges: Merges) -> Ranked:
    """Return the place in a list of merges, and the result, of each pair; to be made once for many pieces."""
    return {(left, right): (rank, result) for rank, (left, right, result) in enumerate(merges)}


def merge_list_bpe(
    piece: bytes,
    ids: Mapping[bytes, int],
    merges: Merges | Ranked,
    *,
    whole_piece: bool = False,
    drops_unknown: bool = False,
) -> list[int]:
    """Return the ids of one piece; `merges` holds (left, right, result) ids, the first to be merged first, or `ranked`.

    `whole_piece` gives a piece that is a token its id at once (`ignore_merges` in tokenizer.json). With
    `drops_unknown`, a byte without a token is left out when all is merged.
    """
    if whole_piece and piece in ids:
        return [ids[piece]]
    priority = merges if isinstance(merges, Mapping) else ranked(merges)
    parts = [ids.get(piece[i : i + 1], -1) if drops_unknown else ids[piece[i : i + 1]] for i in range(len(piece))]
    while len(parts) > 1:
        pairs = [priority.get((parts[i], parts[i + 1])) for i in range(len(parts) - 1)]
        candidates = [(pair[0], i, pair[1]) for i, pair in enumerate(pairs) if pair is not None]
        if not candidates:
            break
        _, i, result = min(candidates)
        parts[i : i + 2] = [result]
    return [part for part in parts if part >= 0]
