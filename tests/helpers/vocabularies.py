"""Makes small vocabularies from a seed, with tokens that begin and end inside characters, all reachable."""

from __future__ import annotations

import random
from collections.abc import Sequence

from reference.bpe_encode import rank_bpe

BYTES = [bytes([byte]) for byte in range(256)]
# Scripts whose runs are cut inside (Han, Kana, Hangul), and others that share first bytes with what stands beside.
ALPHABETS = {
    "han": "東京都中国人的一在 aB'",
    "kana": "のはをたカタナー、 東's",
    "hangul": "소스의에을 한국어aS'",
    "cyrillic": "обово дивно Жя'sт",
    "thai": "หนูณิชย์เคลื่อน กa",
    "non-BMP": "𠀀𠀁🦜東𝐀ｱ e\u0301S",
    "mixed": "東a소Bのя 🦜's\n1ก𠀀é,",
}


def grown(seed: int, alphabet: str, n: int, tokens: Sequence[bytes] = BYTES) -> list[bytes]:
    """Return `tokens` and n more: two neighbours in the ids of some random text, joined.

    Neighbours in ids are a pair that nothing inside it merges across, so each new token is reachable. Most join
    parts of characters, or a part of one and a part of the next: " \\xe6", "о\\xd0".
    """
    rng = random.Random(seed)
    made = list(tokens)
    ids = {token: id_ for id_, token in enumerate(made)}
    for _ in range(50 * n):
        if len(made) >= len(tokens) + n:
            break
        text = "".join(rng.choices(alphabet, k=rng.randint(2, 8))).encode()
        if text in ids:
            continue
        parts = [made[id_] for id_ in rank_bpe(text, ids)]
        at = rng.randrange(len(parts) - 1)
        token = parts[at] + parts[at + 1]
        ids[token] = len(made)
        made.append(token)
    return made
