"""A batch is one flat array of ids and the offsets of its texts, for any number of threads."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from strategies import adversarial, documents
from tokkit.pretokenizers import patterns
from work import processor_time

if TYPE_CHECKING:
    import tokkit

pytestmark = pytest.mark.threads

TEXTS = [*documents(101, 400), "", "a", "", adversarial(103, 30_000), "<|endoftext|>", ""]


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 8])
def test_a_batch_equals_its_texts_one_by_one(tok: tokkit.Tokenizer, threads: int | None) -> None:
    ids, offsets = tok.encode_batch(TEXTS, threads=threads)
    assert ids.dtype == np.uint32
    assert offsets.dtype == np.int64
    assert len(offsets) == len(TEXTS) + 1
    assert offsets[0] == 0
    assert offsets[-1] == len(ids)
    for i, text in enumerate(TEXTS):
        assert ids[offsets[i] : offsets[i + 1]].tolist() == tok.encode(text), i


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_follows_the_policy_for_special_tokens(tok: tokkit.Tokenizer, threads: int) -> None:
    texts = ["a<|endoftext|>b", "<|end|>!", "", "plain"] * 50
    ids, offsets = tok.encode_batch(texts, special="all", threads=threads)
    singles = [tok.encode(text, special="all") for text in texts]
    assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == singles
    assert 2000 in ids


def test_an_empty_batch_has_one_offset(tok: tokkit.Tokenizer) -> None:
    for texts in ([], (), iter(())):
        ids, offsets = tok.encode_batch(texts)
        assert ids.tolist() == []
        assert offsets.tolist() == [0]


def test_a_batch_of_empty_texts_has_no_ids(tok: tokkit.Tokenizer) -> None:
    ids, offsets = tok.encode_batch([""] * 5, threads=2)
    assert ids.tolist() == []
    assert offsets.tolist() == [0] * 6


def test_a_batch_may_be_any_iterable_of_any_text(tok: tokkit.Tokenizer) -> None:
    wanted = tok.encode_batch(["é", "b", "c"])
    for texts in (("é", "b", "c"), (t for t in ("é", "b", "c")), ["é".encode(), bytearray(b"b"), memoryview(b"c")]):
        ids, offsets = tok.encode_batch(texts)
        assert ids.tolist() == wanted[0].tolist()
        assert offsets.tolist() == wanted[1].tolist()


@pytest.mark.parametrize("bad", [None, 3, ["a"], b"\xff", 1.5])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_bad_text_fails_the_batch_and_leaves_the_tokenizer_well(
    tok: tokkit.Tokenizer, bad: object, threads: int
) -> None:
    texts = ["fine"] * 100 + [bad] + ["fine"] * 100
    with pytest.raises((TypeError, ValueError)):
        tok.encode_batch(texts, threads=threads)
    assert tok.decode(tok.encode_batch(["fine"], threads=threads)[0]) == "fine"


def test_a_str_is_not_taken_for_a_batch_of_letters(tok: tokkit.Tokenizer) -> None:
    for text in ("abc", b"abc"):
        with pytest.raises(TypeError):
            tok.encode_batch(text)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_a_number_of_threads_that_is_no_count_is_an_error(tok: tokkit.Tokenizer, threads: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        tok.encode_batch(["a", "b"], threads=threads)


def test_the_environment_may_set_the_number_of_threads(tok: tokkit.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = tok.encode_batch(TEXTS, threads=1)[0]
    monkeypatch.setenv("TOKKIT_NUM_THREADS", "3")
    assert np.array_equal(tok.encode_batch(TEXTS)[0], wanted)
    monkeypatch.setenv("TOKKIT_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="TOKKIT_NUM_THREADS"):
        tok.encode_batch(TEXTS)


def test_one_long_text_among_short_ones_is_not_lost(tok: tokkit.Tokenizer) -> None:
    long = adversarial(107, 300_000)
    for position in (0, 1, 2):
        texts = ["a b", "c d"]
        texts.insert(position, long)
        ids, offsets = tok.encode_batch(texts, threads=2)
        assert ids[offsets[position] : offsets[position + 1]].tolist() == tok.encode(long)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_a_batch_gives_the_same_arrays_every_time(tok: tokkit.Tokenizer) -> None:
    first = tok.encode_batch(TEXTS, threads=2)
    for _ in range(20):
        again = tok.encode_batch(TEXTS, threads=2)
        assert np.array_equal(first[0], again[0])
        assert np.array_equal(first[1], again[1])


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads for texts of any length."""
    from tokkit.engine import engine

    monkeypatch.setattr(engine, "CHARACTERS_A_THREAD", 1000)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("pattern", [*patterns.NAMES, "none"])
def test_a_long_text_in_threads_gives_the_ids_of_one_thread(
    make_tokenizer: Callable[..., tokkit.Tokenizer], pattern: str
) -> None:
    tok = make_tokenizer("rank", pattern, {"<|endoftext|>": 2000, "<|end|>": 2001})
    plain = adversarial(109, 150_000)
    for text in (plain, plain.encode(), "".join(c for c in plain if c < "\x80") * 2, "word " * 40_000):
        for special in ("text", "all"):
            wanted = tok.encode_to_numpy(text, special=special)
            for threads in (1, 2, 5):
                assert np.array_equal(tok.encode_to_numpy(text, special=special, threads=threads), wanted)
                ids, offsets = tok.encode_batch(["a", text, "b"], special=special, threads=threads)
                assert np.array_equal(ids[offsets[1] : offsets[2]], wanted)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("with_long_words", [False, True])
def test_more_threads_begin_with_the_words_of_the_first(tok: tokkit.Tokenizer, with_long_words: bool) -> None:
    texts = documents(117, 60, longest=200)
    texts += [f"{'lowest' * k}ñ" for k in range(3, 30)] if with_long_words else []
    fresh = type(tok)(tok.definition)
    wanted = [fresh.encode(text) for text in texts]  # one thread learns them
    before = fresh.cache_info()
    ids, offsets = fresh.encode_batch(texts, threads=3)
    after = fresh.cache_info()
    assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == wanted
    assert (before["workers"], after["workers"]) == (1, 3)
    assert [after[name] for name in ("words", "own_words", "long_words")] == [
        3 * before[name] for name in ("words", "own_words", "long_words")
    ]


@pytest.mark.usefixtures("eager")
def test_more_ids_than_the_first_texts_let_expect_are_all_there(tok: tokkit.Tokenizer) -> None:
    texts = ["and " * 40_000] * 5 + ["\U000e0001" * 40_000] * 5 + ["a"] * 5
    wanted = [tok.encode_to_numpy(text) for text in texts]
    for threads in (1, 2, 3):
        ids, offsets = tok.encode_batch(texts, threads=threads)
        assert all(np.array_equal(ids[a:b], w) for (a, b), w in zip(itertools.pairwise(offsets), wanted, strict=True))


@pytest.mark.usefixtures("eager")
def test_the_first_bad_text_is_named_whatever_the_number_of_threads(tok: tokkit.Tokenizer) -> None:
    fine, long = b"word " * 60_000, b"fine text " * 50_000
    texts = [fine, b"", fine, long + b"\xff" + fine, fine, b"\xfe", *[fine] * 20]
    for threads in (1, 2, 4):
        for _ in range(5):
            with pytest.raises(ValueError, match=r"text 3 of the batch is not valid UTF-8 at offset 500000 \(0xff\)"):
                tok.encode_batch(texts, threads=threads)
    cut = b"word " * 60_000 + "中".encode()[:2]
    with pytest.raises(ValueError, match="offset 300000"):
        tok.encode_batch([cut], threads=2)


@pytest.mark.usefixtures("eager")
@pytest.mark.skipif(os.name != "posix", reason="needs the signals of Linux or macOS")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_can_be_interrupted(tok: tokkit.Tokenizer, threads: int) -> None:
    text = adversarial(113, 100_000) * 10
    one = processor_time(tok.encode_batch, [text])
    before = threading.active_count()
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))

    def encode() -> None:
        timer.start()
        tok.encode_batch([text] * 3000, threads=threads)

    start = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        encode()
    # A tenth of a second of it, in each thread, and a text: not what three thousand take.
    assert time.process_time() - start < 0.2 * threads + 300 * one
    timer.join()
    assert threading.active_count() == before
    assert tok.decode(tok.encode_batch(["fine"], threads=threads)[0]) == "fine"
