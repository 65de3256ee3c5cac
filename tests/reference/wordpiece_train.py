"""Word counts in, tokens and merges out: WordPiece training by likelihood, all counted anew for each merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

Merge = tuple[str, str, str, int, int, int, int]


def alphabet(
    counts: Mapping[str, int], special_tokens: Sequence[str], prefix: str = "##", limit: int | None = None
) -> list[str]:
    """Return the tokens to begin with: special ones, characters, characters with the prefix."""
    times: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    for word, count in counts.items():
        for place, character in enumerate(word):
            times[character] += count
            inside[character] += place > 0
    kept = sorted(sorted(times, key=lambda c: (-times[c], c))[:limit])
    behind = sorted((c for c in kept if inside[c]), key=lambda c: (-inside[c], c))
    return list(dict.fromkeys([*special_tokens, *kept, *(prefix + c for c in behind)]))


def train(
    counts: Mapping[str, int], tokens: Sequence[str], vocab_size: int, min_frequency: int = 2, prefix: str = "##"
) -> tuple[list[str], list[Merge]]:
    """Return the tokens by id, and of each merge (left, right, token) with its counts: pair, left, right, all."""
    ids = {token: id_ for id_, token in enumerate(tokens)}
    words = [[(prefix if i else "") + c for i, c in enumerate(word) if c in ids] for word in counts]
    times = list(counts.values())
    merges: list[Merge] = []
    while len(ids) < vocab_size:
        single: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in zip(words, times, strict=True):
            for token in word:
                single[token] += count
            for pair in pairwise(word):
                pairs[pair] += count
        able = [pair for pair, count in pairs.items() if count >= max(1, min_frequency)]
        if not able:
            break
        left, right = max(
            able,
            key=lambda pair: (
                Fraction(pairs[pair], single[pair[0]] * single[pair[1]]),
                pairs[pair],
                -ids[pair[0]],
                -ids[pair[1]],
            ),
        )
        token = left + right.removeprefix(prefix)
        merges.append((left, right, token, pairs[left, right], single[left], single[right], single.total()))
        ids.setdefault(token, len(ids))
        for word in words:
            i = 0
            while i + 1 < len(word):
                if (word[i], word[i + 1]) == (left, right):
                    word[i : i + 2] = [token]
                i += 1
    return list(ids), merges
