"""Unigram training by listing every segmentation of the units."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

Units = Mapping[str, int]


def segmentations(text: str, pieces: Mapping[str, float]) -> Iterator[list[str]]:
    """Every way to cut a text into pieces."""
    if not text:
        yield []
    for end in range(1, len(text) + 1):
        if text[:end] in pieces:
            for rest in segmentations(text[end:], pieces):
                yield [text[:end], *rest]


def probability(parts: list[str], pieces: Mapping[str, float]) -> float:
    """The product of the parts' probabilities."""
    return math.prod(pieces[part] for part in parts)


def expect(units: Units, pieces: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """How often each piece is expected, and the log-likelihood of the units."""
    expected, log_likelihood = dict.fromkeys(pieces, 0.0), 0.0
    for unit, count in units.items():
        ways = [(parts, probability(parts, pieces)) for parts in segmentations(unit, pieces)]
        total = sum(p for _, p in ways)
        log_likelihood += count * math.log(total)
        for parts, p in ways:
            for part in parts:
                expected[part] += count * p / total
    return expected, log_likelihood


def loss(piece: str, pieces: Mapping[str, float], expected: Mapping[str, float], token_cost: float) -> float:
    """What leaving a piece out costs, if the best other segmentation takes all its occurrences over."""
    ways = [parts for parts in segmentations(piece, pieces) if parts != [piece]]
    if not ways:
        return math.inf
    parts = max(ways, key=lambda parts: probability(parts, pieces))
    total = sum(expected.values())
    with_it = math.log(expected[piece] / total)
    grown = total + expected[piece] * (len(parts) - 1)
    without = sum(math.log((expected[part] + expected[piece]) / grown) for part in parts)
    return expected[piece] * (with_it - without + token_cost * (len(parts) - 1))


def seeds(units: Units, longest: int, is_valid: Callable[[str], bool]) -> dict[str, int]:
    """Characters, and substrings that occur twice, may be pieces, and are not always followed by one character."""
    counts: Counter[str] = Counter()
    behind: dict[str, set[str]] = {}
    for unit, count in units.items():
        for i in range(len(unit)):
            for j in range(i + 1, min(len(unit), i + longest) + 1):
                counts[unit[i:j]] += count
                # The end of a unit is not the same place as the end of another.
                behind.setdefault(unit[i:j], set()).add(unit[j] if j < len(unit) else f"{unit}\0{i}")
    found = {}
    for text, count in counts.items():
        parts = len(text) == longest or len(behind[text]) > 1 or any("\0" in place for place in behind[text])
        if len(text) == 1 or (count > 1 and is_valid(text) and parts):
            found[text] = count
    return found
