"""A pretoken of 100 kB to 1 MB has the right ids, in time that grows like n log n."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import tokkit
from adversarial_kinds import KINDS
from conftest import LONG, Small
from reference.bpe_encode import merge_list_bpe, rank_bpe
from work import processor_time, work_of

if TYPE_CHECKING:
    import tiktoken


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_piece_gives_tiktokens_ids(tok: tokkit.Tokenizer, rival: tiktoken.Encoding, kind: str) -> None:
    text = KINDS[kind](100_000)
    assert tok.encode_to_numpy(text).tolist() == rival.encode_ordinary(text)
    assert tok.decode(tok.encode_to_numpy(text)) == text


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_a_long_piece_gives_the_published_ids(
    load_shared: Callable[[str], tokkit.Tokenizer], load_tiktoken: Callable[[str], tiktoken.Encoding], name: str
) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    wrong = []
    for kind, make in KINDS.items():
        # The last ones are prime: what is cut in blocks ends in the middle of one.
        for n in (257, 4096, 99_991 if LONG or name == "cl100k_base" else 20_011):
            text = make(n)
            if ours.encode_to_numpy(text).tolist() != theirs.encode_ordinary(text):
                wrong.append((kind, n))
    assert not wrong


@pytest.mark.parametrize("whole", [False, True])
def test_a_piece_of_many_lengths_gives_the_naive_twins_ids(
    make_tokenizer: Callable[..., tokkit.Tokenizer], small: Small, whole: bool
) -> None:
    # No split at all: each text is one piece, of each length about the sizes of keys, stacks and blocks.
    ours = make_tokenizer("rank" if whole else "merges", "none")
    for kind, make in KINDS.items():
        for n in (1, 2, 7, 8, 14, 15, 16, 17, 30, 31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 255, 256, 257):
            data = make(max(n, 8)).encode()[:n].decode("utf-8", "ignore").encode()
            wanted = rank_bpe(data, small.ids) if whole else merge_list_bpe(data, small.ids, small.merges)
            assert ours.encode(data) == wanted, (kind, n)


CALLS: dict[str, Callable[[tokkit.Tokenizer, str], object]] = {
    "encode_to_numpy": lambda tok, text: tok.encode_to_numpy(text),
    "count": lambda tok, text: tok.count(text),
    "offsets": lambda tok, text: tok(text).offsets,
    "truncate": lambda tok, text: tok.truncate(text, 1000),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_byte_of_a_long_piece_costs_what_one_of_a_short_piece_does(tok: tokkit.Tokenizer, kind: str) -> None:
    # Work is counted, each time of a tokenizer that has cached nothing. Quadratic work would make it 10 times as much.
    short, long = KINDS[kind](10_000), KINDS[kind](100_000)
    for name, call in CALLS.items():
        few, many = (work_of(call, tokkit.Tokenizer(tok.definition), text) for text in (short, long))
        growth = (many / len(long.encode())) / (few / len(short.encode()))
        assert growth < 2, (name, growth)


@pytest.mark.parametrize("kind", KINDS if LONG else ["one letter", "random Hangul"])
def test_processor_time_of_a_megabyte_grows_as_little(tok: tokkit.Tokenizer, kind: str) -> None:
    # What is not counted, as bytes that are moved, is in the time: TOKKIT_LONG=1 asks for every kind.
    short, long = KINDS[kind](100_000), KINDS[kind](1_000_000)
    each = [processor_time(tok.encode_to_numpy, text) / len(text.encode()) for text in (short, long)]
    assert each[1] < 5 * each[0]


def test_no_long_piece_costs_many_times_ordinary_text(tok: tokkit.Tokenizer, bundled: str) -> None:
    # The benchmark holds 5; 30 here leaves room for a small vocabulary, a busy machine and a debug build.
    ordinary = (bundled * (1 + 200_000 // len(bundled)))[:200_000]
    per_byte = processor_time(tok.encode_to_numpy, ordinary) / len(ordinary.encode())
    slow = {}
    for kind, make in KINDS.items():
        text = make(200_000)
        ratio = processor_time(tok.encode_to_numpy, text) / len(text.encode()) / per_byte
        if ratio > 30:
            slow[kind] = ratio
    assert not slow
