"""Co-occurrence counted pair by pair: the twin of csrc/embed/cooccurrence.c."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence


def cooccurrence(
    sentences: Iterable[Sequence[str]], window: int, contexts: str = "both", distance_weights: bool = True
) -> dict[tuple[str, str], float]:
    """Return the weight of each (word, context) within `window` of one another."""
    counts: dict[tuple[str, str], float] = defaultdict(float)
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j, context in enumerate(sentence):
                near = i != j and abs(i - j) <= window
                if near and (contexts == "both" or (contexts == "before") == (j < i)):
                    counts[word, context] += 1 / abs(i - j) if distance_weights else 1.0
    return dict(counts)
