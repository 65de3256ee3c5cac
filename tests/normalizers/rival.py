"""Runs a normalizer of tokenizers and one of tokkit on a text, with results in a common form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tokenizers

from tokkit._core.align import AlignedText

CHARACTER = tokenizers.Regex("(?m).")
Pieces = list[tuple[str, list[tuple[int, int]]]]
"""The pieces that are not empty: text, and the bytes of the original that each character comes from."""


def theirs(text: str, *normalizers: Any, cut: str = "") -> Pieces:
    """What tokenizers' normalizers make of the text, which is cut at each `cut` first."""
    stages = tokenizers.PreTokenizedString(text)
    if cut:
        stages.split(lambda number, piece: piece.split(cut, "removed"))
    for normalizer in normalizers:
        stages.normalize(normalizer.normalize)
    pieces = [piece for piece, _, _ in stages.get_splits("original", "byte") if piece]
    stages.split(lambda number, piece: piece.split(CHARACTER, "isolated"))
    characters = iter(one for one in stages.get_splits("original", "byte") if one[0])
    found: Pieces = []
    for piece in pieces:
        ones = [next(characters) for _ in piece]
        assert "".join(one for one, _, _ in ones) == piece
        found.append((piece, [span for _, span, _ in ones]))
    return found


def ours(text: str, *normalizers: Any, cut: str = "") -> Pieces:
    """The same of ours; the bytes of one character must come from one place."""
    aligned = AlignedText(text)
    if cut:
        aligned.cut(lambda piece: outside(piece, cut))
    for normalizer in normalizers:
        normalizer.normalize(aligned)
    spans = aligned.spans().tolist()
    found: Pieces = []
    for piece, (start, end) in zip(aligned.pieces, aligned.bounds.tolist(), strict=True):
        at, places = start, []
        for character in piece:
            size = len(character.encode())
            assert all(span == spans[at] for span in spans[at : at + size])
            places.append(tuple(spans[at]))
            at += size
        assert at == end
        found.append((piece, places))
    return found


def outside(piece: str, cut: str) -> Sequence[tuple[int, int]]:
    """Where the parts between each `cut` stand."""
    spans, at = [], 0
    for part in piece.split(cut):
        spans.append((at, at + len(part)))
        at += len(part) + len(cut)
    return spans
