"""Unigram over the characters of one pretoken by the rules of tokenizers: all paths to every position are compared.

A token is (id, start, end) in characters; the bytes' tokens of unknown characters all cover the whole of them.
"""

from __future__ import annotations

from collections.abc import Sequence

Token = tuple[int, int, int]


def best_way(piece: str, tokens: Sequence[tuple[str, float]], unk_id: int) -> list[Token]:
    """Return the way of the greatest score; of equals, the one whose last token begins first."""
    ids = {token: id_ for id_, (token, _) in enumerate(tokens)}
    unknown = min(score for _, score in tokens) - 10.0
    best: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # score, start and id of the last token, for each place
    for end in range(1, len(piece) + 1):
        ways = []
        for start in range(end):
            id_ = ids.get(piece[start:end])
            if id_ is not None:
                ways.append((tokens[id_][1] + best[start][0], start, id_))
            elif start == end - 1:
                ways.append((unknown + best[start][0], start, unk_id))
        best.append(max(ways, key=lambda way: way[0]))  # max keeps the first of equals
    way, end = [], len(piece)
    while end:
        _, start, id_ = best[end]
        way.append((id_, start, end))
        end = start
    return way[::-1]


def unigram(
    piece: str, tokens: Sequence[tuple[str, float]], unk_id: int, *, byte_fallback: bool = False
) -> list[Token]:
    """Return the tokens of one piece; token i is (text, score), and the last of equal texts counts."""
    ids = {token: id_ for id_, (token, _) in enumerate(tokens)}
    fused: list[Token] = []
    for id_, start, end in best_way(piece, tokens, unk_id):
        if fused and id_ == unk_id and fused[-1][0] == unk_id:
            fused[-1] = (unk_id, fused[-1][1], end)
        else:
            fused.append((id_, start, end))
    made: list[Token] = []
    for _, start, end in fused:
        in_bytes = [ids.get(f"<0x{byte:02X}>") for byte in piece[start:end].encode()]
        if piece[start:end] in ids:
            made.append((ids[piece[start:end]], start, end))
        elif byte_fallback and None not in in_bytes:
            made += [(id_, start, end) for id_ in in_bytes if id_ is not None]
        else:
            made.append((unk_id, start, end))
    return made
