"""Finds the merges of a SentencePiece BPE vocabulary from its scores, in order of priority.

SentencePiece merges any two neighbours whose concatenation is a piece: the piece with the highest score first, then the
leftmost. A merge list is equivalent if every symbol is a token, and if pieces of equal score cannot overlap, or are
runs of one character (often of spaces) that are not part of a piece with a higher score. FormatError otherwise.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files.strict_json import brief
from tokkit.formats.gguf_vocabulary import GGML, NORMAL, UNUSED, Vocabulary

MAX_CHARACTERS = 1024
"""Maximum characters of a normal token, because finding its splits takes quadratic time; known ones have up to 64."""

_Merge = tuple[tuple[float, str, int, int, int], int, int, int]
"""Sort key among all merges, and the ids of left, right and result."""


def of_scores(vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """Return the ids of left, right and result of each merge, uint32 (n, 3)."""
    normal = np.flatnonzero(vocabulary.types == NORMAL).tolist()
    # In text, spaces are replaced by ▁.
    ids = {vocabulary.tokens[id_]: id_ for id_ in normal if " " not in vocabulary.tokens[id_]}
    _check_unused(vocabulary, ids)
    found: list[_Merge] = []
    scores, get = vocabulary.scores.tolist(), ids.get
    for text, id_ in ids.items():
        _check_length(text, id_)
        for at in range(1, len(text)):
            left, right = get(text[:at]), get(text[at:])
            if left is not None and right is not None:
                found.append(((-scores[id_], *_place(text, id_, at)), left, right, id_))
            elif (left is not None or at == 1) and (right is not None or at == len(text) - 1):
                absent = text[:at] if left is None else text[at:]
                raise FormatError(
                    f"{GGML}tokens[{id_}]: {brief(text)} is made of {brief(absent)}, which is not a token; that is not "
                    "supported"
                )
    found.sort()
    parts_above: dict[int, int] = {}  # part of a merge with a greater score → what that makes
    for _, group in groupby(found, lambda merge: merge[0][0]):
        tied = list(group)
        _check_ties(vocabulary, tied, parts_above)
        for _, left, right, result in tied:
            parts_above[left] = parts_above[right] = result
    return np.array([merge[1:] for merge in found], dtype=np.uint32).reshape(-1, 3)


def _check_length(text: str, id_: int) -> None:
    if len(text) > MAX_CHARACTERS:
        raise FormatError(f"{GGML}tokens[{id_}]: {len(text)} characters; a token has {MAX_CHARACTERS} at most")


def _check_unused(vocabulary: Vocabulary, ids: dict[str, int]) -> None:
    """Raise FormatError for an unused token that merges make, because SentencePiece makes it and splits it again."""
    for id_ in np.flatnonzero(vocabulary.types == UNUSED).tolist():
        text = vocabulary.tokens[id_]
        _check_length(text, id_)
        if text not in ids and any(text[:at] in ids and text[at:] in ids for at in range(1, len(text))):
            raise FormatError(
                f"{GGML}token_type[{id_}]: {brief(text)} is unused, but is made of tokens in use; that is not supported"
            )


def _place(text: str, id_: int, at: int) -> tuple[str, int, int, int]:
    """Return the sort key of one split of a piece in two, among splits of pieces with the same score.

    Two merges overlap if the right part of the first is the left part of the second, so both have the same characters
    at their ends; then the left one merges first. Runs of one character grow from the left, and a run never becomes
    longer than the one before it, which had the same sizes before: the longest left part is the leftmost.
    """
    if text == text[0] * len(text):
        return text[0], 0, -at, at - len(text)
    width = min(at, len(text) - at)
    return "", id_, width, -at if text.endswith(text[:width]) else at


def _check_ties(vocabulary: Vocabulary, merges: list[_Merge], parts_above: dict[int, int]) -> None:
    """Raise FormatError if the leftmost of merges with equal scores would not come first, and this could matter."""
    if len({result for *_, result in merges}) < 2:
        return
    results: dict[tuple[str, int], set[int]] = {}
    for order, _, _, result in merges:
        results.setdefault(order[1:3], set()).add(result)
    for order, left, right, result in merges:
        if result in parts_above:
            why = "the first has the score of others, the second a greater one"
            raise _refusal(vocabulary, result, parts_above[result], why)
        tied = results[order[1:3]]
        for part in (left, right):
            if len(tied) > 1 and len(vocabulary.tokens[part]) > 1 and part not in tied:
                raise _refusal(vocabulary, part, result, "the second has the score of others, the first another one")
    ended_by: dict[int, dict[tuple[str, int], int]] = {}
    for order, _, right, result in merges:
        ended_by.setdefault(right, {})[order[1:3]] = result
    for order, left, _, result in merges:
        for kind, other in ended_by.get(left, {}).items():
            if kind != order[1:3]:
                raise _refusal(vocabulary, other, result, "which have one score")


def _refusal(vocabulary: Vocabulary, one: int, other: int, why: str) -> FormatError:
    return FormatError(
        f"{GGML}scores: {brief(vocabulary.tokens[one])} and {brief(vocabulary.tokens[other])}, the ids {one} and "
        f"{other}, may overlap in text, and {why}; this is not supported"
    )
