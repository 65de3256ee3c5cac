"""Long pretokens, encoded by valid pairs of tokens (bpe_backtrack.h), have the tokens of the naive twin.

A pair (a, b) is valid if merging their bytes gives a, b; a sequence whose pairs are all valid is what merging gives.
The core decides that by walking two spines and comparing ranks, of which equal ones (the leftmost goes first) are the
easiest to get wrong: they come where one token overlaps itself, as in "aaa" and "000".
"""

from __future__ import annotations

import random

import pytest

from conftest import LONG
from reference.bpe_encode import rank_bpe
from tokkit._core.encode.bpe import BPEEncoder
from tokkit.models import bpe
from tokkit.models.bpe import BPE
from tokkit.vocab import Vocab
from vocabularies import ALPHABETS, grown

LONG_PIECE = 48  # bytes from which on pieces are walked rather than merged, if tries pay: TK_LONG_PIECE
WARM = 5000  # bytes of long pieces after which they do: TRIES_PAY
LETTERS = {"one": "a", "two": "ab", "zeros": "00001", "three": "abc", "accents": "aé", **ALPHABETS}


def walking(tokens: list[bytes]) -> BPEEncoder:
    """An encoder without a split and without a memory of words, which has come to build tries."""
    encoder = bpe.encoder(Vocab.from_list(tokens), BPE(), [], bpe.WHOLE, cache_words=0)
    assert encoder.unreachable == 0
    for seed in range(WARM // 500 + 1):
        encoder.count("".join(random.Random(seed).choices("zyxwv", k=600)))
    return encoder


def halves(rng: random.Random, tokens: list[bytes]) -> bytes:
    """Tokens, their halves, and tokens that begin as another ends: the pairs that are close to merging."""
    longer = tokens[256:]
    parts: list[bytes] = []
    while sum(map(len, parts)) < 2 * LONG_PIECE:
        token = rng.choice(longer)
        at = rng.randrange(len(token))
        parts.append(rng.choice((token, token[:at], token[at:], token * 2, token + token[:at])))
    return b"".join(parts)


def is_text(data: bytes) -> bytes:
    return data.decode("utf-8", "ignore").encode()


@pytest.mark.parametrize("letters", LETTERS)
def test_halves_of_tokens_and_ties_give_the_naive_twins_ids(letters: str) -> None:
    for seed in range(60 if LONG else 5):
        rng = random.Random(seed)
        tokens = grown(seed, LETTERS[letters], rng.choice((6, 40, 160)))
        ids = {token: id_ for id_, token in enumerate(tokens)}
        encoder = walking(tokens)
        for _ in range(40):
            data = is_text(halves(rng, tokens))
            assert encoder.encode(data) == rank_bpe(data, ids), (seed, data)


@pytest.mark.parametrize("letters", LETTERS)
def test_every_pair_of_tokens_is_valid_in_the_walk_as_it_is_in_merging(letters: str) -> None:
    # Before and behind each pair stand bytes that merge with nothing, so that the piece is long enough to be walked.
    tokens = grown(53, LETTERS[letters], 70)
    ids = {token: id_ for id_, token in enumerate(tokens)}
    encoder, rng = walking(tokens), random.Random(53)
    texts = [token for token in tokens[256:] if token == is_text(token)]
    pairs = [(a, b) for a in texts for b in texts]
    for a, b in rng.sample(pairs, min(len(pairs), 4900 if LONG else 700)):
        data = b"\x01" * LONG_PIECE + a + b
        assert encoder.encode(data) == [1] * LONG_PIECE + merged(a + b, ids), (a, b)


def merged(data: bytes, ids: dict[bytes, int]) -> list[int]:
    """Merge without giving bytes that are a token its id at once: they stand inside a longer piece."""
    return rank_bpe(b"\x01" + data, ids)[1:]
