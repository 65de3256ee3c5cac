"""The pretokenizers that cut by classes of characters or by matches, in the simplest form."""

from __future__ import annotations

import itertools
from collections.abc import Callable

Kinds = Callable[[str], set[str]]


def bert(text: str, kinds: Kinds) -> list[str]:
    pieces, number = [], 0

    def run(character: str) -> int:
        nonlocal number
        number += "punctuation" in kinds(character)  # each by itself
        return -1 if "white" in kinds(character) else number if "punctuation" in kinds(character) else 0

    for key, group in itertools.groupby(text, run):
        if key >= 0:
            pieces.append("".join(group))
    return pieces


def words(text: str, kinds: Kinds) -> list[str]:
    groups = itertools.groupby(text, lambda character: sorted(kinds(character) & {"word", "white"}))
    return ["".join(group) for key, group in groups if key != ["white"]]


def behave(text: str, matches: list[tuple[int, int]], behavior: str, *, invert: bool) -> list[str]:
    """The pieces that matches (start, end) in order make of a text."""
    parts, at = [], 0
    for start, end in matches:
        if at < start:
            parts.append((text[at:start], invert))
        parts.append((text[start:end], not invert))
        at = end
    if at < len(text):
        parts.append((text[at:], invert))
    if behavior == "Removed":
        return [part for part, is_match in parts if part and not is_match]
    joined: list[str] = []
    for k, (part, is_match) in enumerate(parts):
        before = parts[k - 1][1] if k else None
        joins = {
            "Isolated": False,
            "Contiguous": before == is_match,
            "MergedWithPrevious": is_match and before is False,
            "MergedWithNext": not is_match and before is True,
        }[behavior]
        if joins:
            joined[-1] += part
        else:
            joined.append(part)
    return [part for part in joined if part]
