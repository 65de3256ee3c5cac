"""Ranks converted to a merge list give equal ids for random vocabularies, by both naive encoders."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reference.bpe_encode import merge_list_bpe, rank_bpe
from tokkit.definition import Definition
from tokkit.formats import tiktoken
from tokkit.models.bpe import BPE, possible_merges
from tokkit.vocab import Vocab

BYTES = [bytes([byte]) for byte in range(256)]


def merges_of(tokens: list[bytes]) -> list[tuple[int, int, int]]:
    merges, _ = possible_merges(Vocab.from_list(tokens), BPE(), ())
    return [tuple(merge) for merge in merges.tolist()]


@pytest.mark.parametrize("letters", [b"a", b"ab", b"abc"])
def test_the_possible_merges_of_ranks_give_the_ids_of_rank_bpe(letters: bytes) -> None:
    for seed in range(200):
        rng = random.Random(seed)
        words = {bytes(rng.choices(letters, k=rng.randint(2, 7))) for _ in range(rng.randint(0, 14))}
        tokens = BYTES + sorted(words)
        rng.shuffle(tokens)
        ids = {token: id_ for id_, token in enumerate(tokens)}
        merges = merges_of(tokens)
        for _ in range(20):
            piece = bytes(rng.choices(letters, k=rng.randint(1, 16)))
            assert merge_list_bpe(piece, ids, merges, whole_piece=True) == rank_bpe(piece, ids), (tokens, piece)


def test_the_possible_merges_of_a_merge_list_give_its_ids() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        tokens, listed = list(BYTES), []
        for _ in range(rng.randint(0, 12)):
            left, right = rng.choice([97, 98, *range(256, len(tokens))]), rng.choice([97, 98, *range(256, len(tokens))])
            joined = tokens[left] + tokens[right]
            if joined not in tokens:
                tokens.append(joined)
            listed.append((left, right, tokens.index(joined)))
        listed = list({merge[:2]: merge for merge in listed}.values())
        rng.shuffle(listed)
        ids = {token: id_ for id_, token in enumerate(tokens)}
        model = BPE(np.array(listed, dtype=np.uint32).reshape(-1, 3), whole_piece=False)
        possible = possible_merges(Vocab.from_list(tokens), model, ())[0].tolist()
        for _ in range(20):
            piece = bytes(rng.choices(b"ab", k=rng.randint(1, 20)))
            expected = merge_list_bpe(piece, ids, listed, whole_piece=False)
            assert merge_list_bpe(piece, ids, possible, whole_piece=False) == expected, (tokens, listed, piece)


def test_a_token_that_merging_never_makes_is_in_no_merge() -> None:
    tokens = [*BYTES, b"ab", b"bc", b"abcx", b"", b"cc"]
    assert merges_of(tokens) == [(97, 98, 256), (98, 99, 257), (99, 99, 260)]
    assert possible_merges(Vocab.from_list(tokens), BPE(), ())[1] == 1


def test_gpt_2_s_ranks_give_back_gpt_2_s_own_merges(shared: Path) -> None:
    from tokkit import formats
    from tokkit.formats.byte_vocabulary import merge_list

    merges, whole_piece = merge_list(formats.read(shared / "vocabs" / "r50k_base.tiktoken"))
    own = formats.read(shared / "vocabs" / "gpt2" / "vocab.bpe").model.merges
    assert np.array_equal(merges, own)
    assert not whole_piece


def test_a_token_of_a_megabyte_costs_no_quadratic_time() -> None:
    tokens = [*BYTES, b"aa", b"aaaa", b"a" * 1_000_000, b"ab" * 500_000]
    assert merges_of(tokens) == [(97, 97, 256), (256, 256, 257)]


def test_rank_definitions_without_merges_are_all_bytes(make: Callable[..., Definition]) -> None:
    definition = make("rank", tokens=BYTES, special={})
    assert tiktoken.write(definition).count(b"\n") == 256
