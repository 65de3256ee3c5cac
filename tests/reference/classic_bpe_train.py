"""Classic BPE training as in its paper: all pairs are counted anew at each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise


def train(
    counts: Mapping[str, int],
    n_tokens: int,
    *,
    word_end: str = "apart",
    min_frequency: int = 0,
    forbidden: Sequence[str] = (),
) -> list[tuple[str, str, int]]:
    """Return (left, right, count) of each merge, until there are `n_tokens` tokens, characters counted."""
    words = []
    for word, times in counts.items():
        last = {"apart": [word[-1], "</w>"], "attached": [word[-1] + "</w>"], "none": [word[-1]]}[word_end]
        words.append(([*word[:-1], *last], times))
    tokens = {symbol for word, _ in words for symbol in word}
    made = []
    while len(tokens) < n_tokens:
        pairs: dict[tuple[str, str], int] = {}  # in the order in which the text has them first
        for word, times in words:
            for pair in pairwise(word):
                if not any(text in "".join(pair).removesuffix("</w>") for text in forbidden):
                    pairs[pair] = pairs.get(pair, 0) + times
        if not pairs or max(pairs.values()) < max(min_frequency, 1):
            break
        left, right = max(pairs, key=pairs.__getitem__)
        made.append((left, right, pairs[left, right]))
        tokens.add(left + right)
        for word, _ in words:
            i = 0
            while i + 1 < len(word):
                if word[i] == left and word[i + 1] == right:
                    word[i : i + 2] = [left + right]
                i += 1
    return made
