"""Errors for invalid options and sources; progress, warnings and Ctrl-C while training."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tokkit
from processes import seconds_to_end
from tokkit._core.train.bpe_train import BPETrainer
from tokkit._core.train.word_counts import WordCounts
from tokkit.errors import CorpusError, OptionError, PatternError
from tokkit.trainers.bpe import ALPHABET

TEXT = "low lower lowest"
BYTES = [(byte, 1) for byte in ALPHABET]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 255}, "at least 256: 256 bytes and 0 special tokens"),
        ({"vocab_size": 257, "special_tokens": ["<a>", "<b>"]}, "at least 258: 256 bytes and 2"),
        ({"vocab_size": -1}, "at least 256"),
        ({"vocab_size": [300, 10]}, "at least 256"),
        ({"vocab_size": []}, "at least 256"),
        ({"vocab_size": 2**31}, "below 2\\*\\*31"),
        ({"vocab_size": 300.0}, "must be an int"),
        ({"vocab_size": True}, "must be an int"),
        ({"vocab_size": "300"}, "must be an int"),
        ({"min_frequency": -1}, "at least 0"),
        ({"max_token_length": 1}, "at least 2 bytes"),
        ({"threads": 0}, "at least 1"),
        ({"threads": True}, "at least 1"),
        ({"model": "unigrams"}, "must be one of bbpe"),
        ({"unit": "word"}, "line, paragraph, file"),
        ({"input_errors": "drop"}, "strict, replace, ignore"),
        ({"pattern": 5}, "str or None"),
        ({"special_tokens": "<s>"}, "a list of str"),
        ({"special_tokens": [b"<s>"]}, "must be str"),
        ({"special_tokens": [""]}, "empty"),
        ({"special_tokens": ["<s>", "<s>"]}, "twice"),
        ({"special_tokens": ["a"]}, "single byte"),
        ({"special_tokens": ["\n"]}, "single byte"),
        ({"special_tokens": ["Ġ"]}, "single byte"),
        ({"special_tokens": ["Ġthe"]}, "stands for other text in files"),
        ({"special_tokens": ["<\ud800>"]}, "lone surrogate"),
    ],
)
def test_an_option_that_cannot_work_is_an_error_that_says_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tokkit.train(iter([TEXT]), **{"vocab_size": 300, **options})


def test_a_number_of_threads_in_the_environment_must_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKKIT_NUM_THREADS", "2")
    assert len(tokkit.train(iter([TEXT]), vocab_size=258).vocab) == 258
    monkeypatch.setenv("TOKKIT_NUM_THREADS", "none")
    with pytest.raises(OptionError, match="TOKKIT_NUM_THREADS"):
        tokkit.train(iter([TEXT]), vocab_size=258)


def test_a_pattern_that_does_not_compile_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(PatternError, match="does not compile"):
        tokkit.train(iter([TEXT]), vocab_size=300, pattern="(")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "no file was given"),
        (iter([]), "no text"),
        (iter(["", ""]), "no text"),
        ({}, "no word"),
        ({"a": 0}, "no word"),
        ({"": 1}, "empty"),
        ({"a": -1}, "negative"),
        ({"abcd": 2**62}, "too large"),
        ({"a": 2**200}, "too large"),
        ({"\ud800": 1}, "surrogate"),
        (iter(["ok", "\udc80"]), "number 2: character 0 is a lone surrogate"),
        (iter([b"\xff"]), "byte 0 is not UTF-8"),
    ],
)
def test_a_corpus_that_cannot_be_used_is_an_error_that_says_why(source: object, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        tokkit.train(source, vocab_size=300)


@pytest.mark.parametrize("source", [None, 5, iter([None]), iter(["a", 3]), {"a": 1.5}, {"a": True}, {3: 1}, [None]])
def test_a_source_of_another_type_is_a_type_error(source: object) -> None:
    with pytest.raises(TypeError):
        tokkit.train(source, vocab_size=300)


def test_texts_with_errors_can_be_repaired() -> None:
    replaced = tokkit.train(iter(["a\udc80", b"\xff\xff"]), vocab_size=300, input_errors="replace")
    assert replaced.vocab.get("\ufffd") is not None
    assert len(tokkit.train(iter(["ab\udc80", b"\xffab"]), vocab_size=300, input_errors="ignore").vocab) == 257


def test_a_corpus_too_small_for_the_size_gives_fewer_tokens_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tokkit"):
        made = tokkit.train(iter(["ab"]), vocab_size=[257, 1000])
    assert [len(tokenizer.vocab) for tokenizer in made] == [257, 257]
    assert "yields only 257 tokens, fewer than the vocab_size of 1000" in caplog.text


def test_a_word_of_one_byte_trains_to_the_bytes_alone() -> None:
    made = tokkit.train(iter(["a"]), vocab_size=256)
    assert list(made.vocab) == ALPHABET
    assert made.definition.model.merges.shape == (0, 3)


def test_the_defaults_are_those_of_the_byte_level_pattern() -> None:
    made = tokkit.train(iter([TEXT]), vocab_size=260)
    assert made.definition.pretokenizer == tokkit.Split(tokkit.pretokenizers.patterns.BYTE_LEVEL, keep_unmatched=True)
    assert made.decode(made.encode(TEXT)) == TEXT


def test_progress_is_told_at_the_start_and_the_end_of_each_stage(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT * 1000)
    seen: list[tuple[str, int, int]] = []
    tokkit.train(path, vocab_size=264, progress=lambda *now: seen.append(now))
    size = path.stat().st_size
    assert seen[0] == ("count", 0, size)
    assert ("count", size, size) in seen
    assert ("merge", 0, 8) in seen
    assert seen[-1] == ("merge", 8, 8)
    assert all(done <= total for _, done, total in seen)


def test_an_error_in_progress_ends_the_training(bundled: str) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tokkit.train(iter([bundled]), vocab_size=1000, progress=stop, threads=2)


def test_an_error_in_the_iterator_of_texts_comes_out_as_it_is() -> None:
    def texts() -> Any:
        yield "a"
        raise OSError("the disk is gone")

    for threads in (1, 3):
        with pytest.raises(OSError, match="the disk is gone"):
            tokkit.train(texts(), vocab_size=300, threads=threads)


@pytest.mark.skipif(os.name == "nt", reason="needs the signals of Linux or macOS")
@pytest.mark.parametrize("stage", ["count", "merge"])
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_training_soon(tmp_path: Path, stage: str, threads: int) -> None:
    code = f"""
import random, sys, tokkit
def progress(stage, done, total):
    if stage == {stage!r}:
        print("now", flush=True)
rng = random.Random(1)
line = "".join(rng.choices("abcdefghij", k=1 << 20))
if {stage!r} == "count":
    source = (line for _ in range(10 ** 9))
else:
    source = iter([line, line[::-1], line + "x"] * 3)
tokkit.train(source, vocab_size=2_000_000, threads={threads}, pattern=None, progress=progress, max_token_length=40)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"now\n"
        time.sleep(0.2)  # into the middle of it
        assert seconds_to_end(process, signal.SIGINT) < 3 * threads, "a second is the promise, of a machine like ours"
        assert process.returncode == -signal.SIGINT


def test_the_core_refuses_what_would_not_be_sound() -> None:
    counts = WordCounts()
    for text, family, ends in ((b"ab", 99, None), (b"ab", -1, None), (b"ab", 1, b"\1" + bytes(7)), (b"ab", 0, b"")):
        with pytest.raises(ValueError, match=r"scanner|ends|end"):
            counts.add_text(text, family, ends)
    falling = b"".join(end.to_bytes(8, sys.byteorder, signed=True) for end in (2, 1, 2))
    with pytest.raises(ValueError, match="at least the end before it"):
        counts.add_text(b"ab", 0, falling)
    with pytest.raises(ValueError, match="at least 1 byte"):
        counts.add_word(b"")
    with pytest.raises(TypeError):
        counts.add_text("ab", 0)
    assert counts.add_text(b"ok\xff", 1) == 2
    assert len(counts) == 0
    with pytest.raises(RuntimeError, match="in use"):
        counts.merge(counts)
    for tokens, size, longest in (
        (BYTES[1:], 300, 9),
        (BYTES, 255, 9),
        (BYTES, 300, 1),
        ([(b"", 1), *BYTES], 300, 9),
    ):
        with pytest.raises(ValueError, match=r"bytes|vocab_size is|must be at least|out of range"):
            BPETrainer(WordCounts(), tokens, size, 0, longest)


def test_counts_that_trained_count_no_more_and_an_empty_table_trains_nothing() -> None:
    counts = WordCounts()
    assert BPETrainer(counts, BYTES, 300, 0, 9).run(1) is True
    with pytest.raises(RuntimeError, match="frozen or were used"):
        counts.add_word(b"a")
    with pytest.raises(RuntimeError, match="frozen or were used"):
        BPETrainer(counts, BYTES, 300, 0, 9)


def test_words_are_counted_as_a_dictionary_counts_them() -> None:
    rng = random.Random(5)
    words = [bytes(rng.choices(b"abc", k=rng.choice([1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 40]))) for _ in range(20_000)]
    expected: dict[bytes, int] = {}
    one, other = WordCounts(), WordCounts()
    for number, word in enumerate(words):
        expected[word] = expected.get(word, 0) + number
        (one if number % 2 else other).add_word(word, number)
    one.merge(other)
    assert one.items() == sorted(expected.items())
    assert len(one) == len(expected)


def test_lines_paragraphs_and_given_ends_are_documents() -> None:
    counts = WordCounts()
    counts.add_text(b"a\n\nb", 0)
    assert counts.items() == [(b"\n", 1), (b"a\n", 1), (b"b", 1)]
    counts = WordCounts()
    ends = b"".join(end.to_bytes(8, sys.byteorder) for end in (0, 2, 2, 4))
    counts.add_text(b"a\n\nb", 0, ends)
    assert counts.items() == [(b"\nb", 1), (b"a\n", 1)]


def test_a_training_imports_its_own_trainer_only() -> None:
    source = "import sys, tokkit; tokkit.train(iter(['low lower']), vocab_size=258); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "tokkit.trainers.bpe" in loaded
    others = ("classic", "wordpiece", "wordlevel", "hybrid", "sentencepiece_models")
    assert not {f"tokkit.trainers.{name}" for name in others} & loaded
    assert "_hashlib" not in loaded, "OpenSSL takes 4 MB"
