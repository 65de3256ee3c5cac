"""Random vocabularies, which lack the properties of trained ones, give the ids of the naive twins.

A trained vocabulary has every token reachable by merges of lesser rank. Published ones break that (Llama 3 has
hundreds of tokens that only a whole piece can be), and a loader cannot know: here ranks are in any order.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conftest import LONG
from reference.bpe_encode import merge_list_bpe, rank_bpe, ranked
from reference.split import split
from tokkit.definition import Definition, Split
from tokkit.models.bpe import BPE
from tokkit.pretokenizers import patterns
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    import tokkit

# Few letters, so that texts and tokens meet; of 1 to 4 bytes, and two that share their first bytes.
ALPHABETS = ("ab", "abc ", "aé", "αβ é", "中国a", "中乭", "🦜🦝x", "กขaé中🦜")
BYTES = [bytes([b]) for b in range(256)]


def random_tokens(rng: random.Random, alphabet: str) -> list[bytes]:
    """Bytes first, then tokens in random order: joined tokens, pieces of text, parts of characters."""
    tokens = list(BYTES)
    used = sorted(set(alphabet.encode()))
    pool = [bytes([byte]) for byte in used]
    for _ in range(rng.randint(0, 60)):
        kind = rng.random()
        if kind < 0.7:
            new = rng.choice(pool) + rng.choice(pool)
        elif kind < 0.9:
            new = "".join(rng.choices(alphabet, k=rng.randint(1, 12))).encode()
        else:
            new = bytes(rng.choices(used, k=rng.randint(2, 4)))
        if len(new) > 1 and new not in pool:
            pool.append(new)
    longer = pool[len(used) :]
    if rng.random() < 0.6:
        rng.shuffle(longer)
    return tokens + longer


def random_texts(rng: random.Random, alphabet: str, tokens: list[bytes]) -> list[str]:
    """Runs of letters, and of tokens where those are text."""
    texts = ["".join(rng.choices(alphabet, k=n)) for n in (1, 2, 3, 5, 8, 14, 15, 16, 17, 31, 32, 33, 65, 130)]
    for _ in range(6):
        joined = b"".join(rng.choices(tokens[256:] or tokens, k=rng.randint(1, 12)))
        texts.append(joined.decode("utf-8", "ignore"))
    texts.append(rng.choice(alphabet) * rng.randint(1, 140))
    return [*texts, " ".join(texts[:5])]


def make(tokens: list[bytes], model: BPE, pattern: str | None) -> tokkit.Tokenizer:
    import tokkit

    return tokkit.Tokenizer(Definition(Vocab.from_list(tokens), model, Split(pattern)))


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_rank_bpe_of_any_vocabulary_gives_the_twins_ids(alphabet: str) -> None:
    for seed in range(300 if LONG else 12):
        rng = random.Random(f"{alphabet}{seed}")
        tokens = random_tokens(rng, alphabet)
        ids = {token: id_ for id_, token in enumerate(tokens)}
        pattern = rng.choice((None, patterns.CL100K, patterns.R50K, r"\w+|\W"))
        ours = make(tokens, BPE(), pattern)
        texts = random_texts(rng, alphabet, tokens)
        for text in texts:
            wanted = [id_ for piece in split(pattern, text) for id_ in rank_bpe(piece.encode(), ids)]
            for _ in range(2):  # the second time from the cache
                assert ours.encode(text) == wanted, (seed, pattern, text, tokens[256:])


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("whole", [False, True])
def test_any_list_of_merges_gives_the_twins_ids(alphabet: str, whole: bool) -> None:
    for seed in range(300 if LONG else 12):
        rng = random.Random(f"{alphabet}{seed}{whole}")
        tokens = random_tokens(rng, alphabet)
        ids = {token: id_ for id_, token in enumerate(tokens)}
        pairs = {(left, token[len(left) :]) for token in tokens[256:] for left in tokens if token.startswith(left)}
        rows = [(ids[a], ids[b], ids[a + b]) for a, b in pairs if b in ids]
        rows.sort(key=lambda row: row[2])
        if rng.random() < 0.6:
            rng.shuffle(rows)
        rows = rows[: rng.randint(0, len(rows))]
        pattern = rng.choice((None, patterns.CL100K, patterns.BYTE_LEVEL))
        ours = make(tokens, BPE(merges=np.array(rows, dtype=np.uint32).reshape(-1, 3), whole_piece=whole), pattern)
        merges = ranked(rows)
        for text in random_texts(rng, alphabet, tokens):
            wanted = []
            for piece in split(pattern, text):
                wanted += merge_list_bpe(piece.encode(), ids, merges, whole_piece=whole)
            for _ in range(2):  # the second time from the cache
                assert ours.encode(text) == wanted, (seed, pattern, text, tokens[256:], rows)


def test_two_tokens_of_the_same_bytes_are_told_apart_by_their_merges() -> None:
    tokens = [*BYTES, b"abc", b"bc", b"ab", b"abc"]
    merges = np.array([(97, 98, 258), (98, 99, 257), (97, 257, 256), (258, 99, 259)], dtype=np.uint32)
    assert make(tokens, BPE(merges, whole_piece=False), patterns.CL100K).encode("abc") == [259]


def test_a_vocabulary_made_to_mislead_longest_match_costs_no_more_than_merging() -> None:
    # Each place has hundreds of candidates, and the longest are wrong: the walk gives up and merges.
    tokens = [*BYTES, *(b"a" * n for n in range(2, 700))]
    ids = {token: id_ for id_, token in enumerate(tokens)}
    text = "a" * 20_001
    ours = make(tokens, BPE(), patterns.CL100K)
    assert ours.encode(text[:301]) == rank_bpe(text[:301].encode(), ids)
    assert ours.decode(ours.encode(text)) == text


@pytest.mark.parametrize("n", [3, 15, 16, 17, 64, 65, 171, 512, 513, 5000, 100_000])
@pytest.mark.parametrize("unit", ["z", "中", " "])
def test_a_token_that_no_merge_makes_is_found_whatever_its_length(n: int, unit: str) -> None:
    word = unit * n
    ours = make([*BYTES, word.encode()], BPE(), patterns.CL100K)
    assert ours.encode(word) == [256]
    assert ours.encode(word + "!")[:1] == ([256] if unit != " " else [32])
    assert len(ours.encode(unit * (n + 1))) == len(word.encode()) + len(unit.encode())
