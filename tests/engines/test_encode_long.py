"""One piece of 100 kB to 1 MB in, the right ids out, in time that grows like n log n and not like its square."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from adversarial_kinds import KINDS
from reference.bpe_encode import merge_list_bpe, rank_bpe

if TYPE_CHECKING:
    import tiktoken

    import tokkit
    from conftest import Small


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
        # 99,991 is prime: what is cut in blocks ends in the middle of one.
        for n in (257, 4096, 99_991):
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


def best_of_three(encode: Callable[[str], object], text: str) -> float:
    """The least processor time in seconds of three calls."""
    times = []
    for _ in range(3):
        start = time.thread_time()
        encode(text)
        times.append(time.thread_time() - start)
    return min(times)


def time_grows_linearly(encode: Callable[[str], object], make: Callable[[int], str]) -> float:
    """Return how much more time a byte costs in a text of 1 MB than in one of 100 kB; about 1 if linear."""
    short, long = make(100_000), make(1_000_000)
    cost = best_of_three(encode, short) / len(short.encode())
    return best_of_three(encode, long) / len(long.encode()) / cost


@pytest.mark.parametrize("kind", KINDS)
def test_a_byte_of_a_long_piece_costs_what_one_of_a_short_piece_does(tok: tokkit.Tokenizer, kind: str) -> None:
    # Quadratic work would make this 10. A busy machine can disturb one measurement, hardly three of them.
    ratios = []
    for _ in range(3):
        ratios.append(time_grows_linearly(tok.encode_to_numpy, KINDS[kind]))
        if ratios[-1] <= 4:
            return
    pytest.fail(f"time per byte grows by {ratios} from 100 kB to 1 MB of {kind}")


@pytest.mark.parametrize("kind", ["one letter", "spaces", "one Han", "random Hangul", "emoji", "two random letters"])
def test_counting_and_offsets_of_a_long_piece_do_not_grow_either(tok: tokkit.Tokenizer, kind: str) -> None:
    for encode in (tok.count, lambda text: tok(text).offsets, lambda text: tok.truncate(text, 1000)):
        ratios = []
        for _ in range(3):
            ratios.append(time_grows_linearly(encode, lambda n: KINDS[kind](n // 5)))
            if ratios[-1] <= 4:
                break
        else:
            pytest.fail(f"time per byte grows by {ratios} from 20 kB to 200 kB of {kind}")


def test_no_long_piece_costs_many_times_ordinary_text(tok: tokkit.Tokenizer, bundled: str) -> None:
    # The benchmark holds 5; 30 here leaves room for a small vocabulary, a busy machine and a debug build.
    ordinary = bundled * (500_000 // len(bundled))
    per_byte = best_of_three(tok.encode_to_numpy, ordinary) / len(ordinary.encode())
    slow = {}
    for kind, make in KINDS.items():
        text = make(500_000)
        ratio = best_of_three(tok.encode_to_numpy, text) / len(text.encode()) / per_byte
        if ratio > 30:
            slow[kind] = ratio
    assert not slow
