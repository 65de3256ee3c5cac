"""WordPiece training by mutual information or by gain, with all counts computed anew for each merge."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

Merge = tuple[str, str, str, int, int, int, int]
Words, Texts = Mapping[str, int], Sequence[str]


def alphabet(counts: Words, special_tokens: Texts, prefix: str = "##", limit: int | None = None) -> list[str]:
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
    counts: Words, tokens: Texts, size: int, least: int = 2, prefix: str = "##", score: str = "pmi", bar: Texts = ()
) -> tuple[list[str], list[Merge]]:
    """Return the tokens by id, and of each merge (left, right, token) with its counts: pair, left, right, all."""
    ids = {token: id_ for id_, token in enumerate(tokens)}
    words = [[(prefix if i else "") + c for i, c in enumerate(word) if c in ids] for word in counts]
    merges: list[Merge] = []
    while len(ids) < size:
        single: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in zip(words, counts.values(), strict=True):
            for token in word:
                single[token] += count
            for pair in pairwise(word):
                pairs[pair] += count
        able = [pair for pair, count in pairs.items() if count >= max(1, least)]
        able = [(x, y) for x, y in able if not any(t in (x + y.removeprefix(prefix)).removeprefix(prefix) for t in bar)]
        if not able:
            break
        left, right = max(able, key=lambda p: (SCORES[score](pairs[p], single, p), pairs[p], -ids[p[0]], -ids[p[1]]))
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


def information(n: int, single: Counter[str], pair: tuple[str, str]) -> Fraction:
    """Return the mutual information of a pair, without what all pairs share."""
    return Fraction(n, single[pair[0]] * single[pair[1]])


def gain(n: int, single: Counter[str], pair: tuple[str, str]) -> float:
    """Return by how much log p(corpus) rises: Σ m·log(m / N) after the merge less the same before, to 32 bits."""
    total, changed = single.total(), set(pair)
    after = [n, total, *(max(single[token] - n * pair.count(token), 0) for token in changed)]
    before = [total - n, *(single[token] for token in changed)]
    with localcontext(prec=40):
        terms = [sum(m * Decimal(m).ln() for m in counts if m) for counts in (after, before)]
        mantissa, exponent = math.frexp(terms[0] - terms[1])
    return math.ldexp(round(mantissa * 2**32), exponent)


SCORES = {"pmi": information, "likelihood": gain}
