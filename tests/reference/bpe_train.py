"""BPE training with the rules of tokenizers, one by one, slow and simple.

The queue holds entries (count when made, pair, numbers of words). The entry with the greatest count comes next, of
equals the smaller pair of ids. Pairs too long to become a token are never counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

Pair = tuple[int, int]


def train(
    counts: Mapping[bytes, int],
    alphabet: Sequence[bytes],
    vocab_size: int,
    min_frequency: int = 0,
    max_length: int | None = None,
    forbidden: Sequence[bytes] = (),
) -> tuple[list[bytes], list[tuple[int, int, int]]]:
    """Return the tokens by id and the merges (left, right, result), each pair at its last place."""
    tokens = list(alphabet)
    ids = {token: id_ for id_, token in enumerate(tokens)}
    words = [[ids[bytes([byte])] for byte in word] for word in counts]
    times = list(counts.values())
    pairs: dict[Pair, int] = defaultdict(int)
    where: dict[Pair, list[int]] = defaultdict(list)
    for number, word in enumerate(words):
        for pair in pairwise(word):
            pairs[pair] += times[number]
            where[pair].append(number)
    queue = [(pairs[pair], pair, numbers) for pair, numbers in where.items()]
    merges: list[tuple[int, int, int]] = []
    while len(ids) < vocab_size and queue:
        best = min(range(len(queue)), key=lambda i: (-queue[i][0], queue[i][1], i))
        count, pair, numbers = queue.pop(best)
        if count != pairs[pair]:
            queue.append((pairs[pair], pair, numbers))
            continue
        if count < 1 or count < min_frequency:
            break
        token = tokens[pair[0]] + tokens[pair[1]]
        if any(text in token for text in forbidden):
            continue
        if token not in ids:
            ids[token] = len(tokens)
            tokens.append(token)
        merges.append((*pair, ids[token]))
        gained: dict[Pair, list[int]] = defaultdict(list)
        for number in sorted(set(numbers)):
            for changed, change in merge_word(words[number], pair, ids[token]):
                if change > 0 and max_length is not None and sum(len(tokens[i]) for i in changed) > max_length:
                    continue
                pairs[changed] += change * times[number]
                if change > 0:
                    gained[changed].append(number)
        queue += [(pairs[changed], changed, found) for changed, found in gained.items() if pairs[changed] > 0]
    last = {merge[:2]: at for at, merge in enumerate(merges)}
    return tokens, [merge for at, merge in enumerate(merges) if last[merge[:2]] == at]


def merge_word(word: list[int], pair: Pair, new: int) -> list[tuple[Pair, int]]:
    """Merge a pair in one word, from left to right, and return what that changes in the counts of pairs."""
    changes: list[tuple[Pair, int]] = []
    i = 0
    while i + 1 < len(word):
        if (word[i], word[i + 1]) == pair:
            word[i : i + 2] = [new]
            if i > 0:
                changes += [((word[i - 1], pair[0]), -1), ((word[i - 1], new), 1)]
            if i + 1 < len(word):
                changes += [((pair[1], word[i + 1]), -1), ((new, word[i + 1]), 1)]
        i += 1
    return changes
