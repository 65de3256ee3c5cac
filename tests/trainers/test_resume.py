"""A training that was stopped goes on from its state with equal bytes, and a state that is broken is named."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

import tokkit
from tokkit.errors import FormatError, OptionError
from tokkit.trainers import CountFiles, bpe, bpe_state, build_counts, train


class Stopped(Exception):
    """A training that ends as if its process was killed."""


def text(seed: int = 1, n: int = 4000) -> str:
    drawn = random.Random(seed)
    syllables = ["a", "an", "na", "nan", "ban", "lo", "low", "er", "est", "ü", "日本"]
    return "".join("".join(drawn.choices(syllables, k=drawn.randint(1, 6))) + drawn.choice(" \n") for _ in range(n))


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text(text(), encoding="utf-8")
    return str(path)


def bytes_of(tok: tokkit.Tokenizer, folder: Path) -> bytes:
    tok.save(folder / "t.json")
    return (folder / "t.json").read_bytes()


def stopped_after(n: int, monkeypatch: pytest.MonkeyPatch, source: Any, **options: Any) -> None:
    """Train until the state was saved n times."""
    save, left = bpe_state.save, [n]

    def count(*args: Any) -> None:
        save(*args)
        left[0] -= 1
        if not left[0]:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(bpe_state, "save", count)
        with pytest.raises(Stopped):
            train(source, **options)


@pytest.mark.parametrize("options", [{}, {"max_token_length": 5, "special_tokens": ["ban<"], "min_frequency": 3}])
@pytest.mark.parametrize("stops", [1, 4, 9])
def test_a_training_that_goes_on_gives_equal_bytes(
    stops: int, options: dict[str, Any], corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(corpus, vocab_size=700, **options)
    saved = {"state": tmp_path / "state", "state_every": 10, **options}
    stopped_after(stops, monkeypatch, corpus, vocab_size=700, **saved)
    os.utime(corpus, ns=(1, os.stat(corpus).st_mtime_ns))
    made = train(corpus, vocab_size=700, resume=True, **saved)
    assert bytes_of(made, tmp_path) == bytes_of(whole, tmp_path)
    assert bytes_of(train(corpus, vocab_size=700, resume=True, **saved), tmp_path) == bytes_of(whole, tmp_path)


def test_tokens_that_several_merges_reach_come_out_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs get further entries in the queue there, whose order and positions decide ids."""
    for seed in range(8):
        drawn = random.Random(seed)
        words = {"".join(drawn.choices("ab", k=drawn.randint(2, 12))): drawn.randint(1, 9) for _ in range(60)}
        whole = train(words, vocab_size=330, pattern=None)
        saved: dict[str, Any] = {"state": tmp_path / f"{seed}", "state_every": 1, "vocab_size": 330, "pattern": None}
        stopped_after(drawn.randint(1, 30), monkeypatch, words, **saved)
        assert bytes_of(train(words, resume=True, **saved), tmp_path) == bytes_of(whole, tmp_path)


def test_a_training_that_has_ended_goes_on_to_a_larger_vocabulary(corpus: str, tmp_path: Path) -> None:
    build_counts(corpus, tmp_path / "counts")
    source, state = CountFiles(tmp_path / "counts"), tmp_path / "state"
    train(source, vocab_size=400, state=state)
    made = train(source, vocab_size=[350, 400, 600], state=state, resume=True)
    wanted = train(corpus, vocab_size=[350, 400, 600])
    assert [tok.fingerprint() for tok in made] == [tok.fingerprint() for tok in wanted]


def test_words_and_positions_in_mapped_files_give_equal_bytes(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mapped").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "mapped"))
    whole = train(corpus, vocab_size=700)
    assert bytes_of(train(corpus, vocab_size=700, max_memory=1), tmp_path) == bytes_of(whole, tmp_path)
    saved: dict[str, Any] = {"state": tmp_path / "state", "state_every": 20, "max_memory": 1, "vocab_size": 700}
    stopped_after(3, monkeypatch, corpus, **saved)
    assert bytes_of(train(corpus, resume=True, **saved), tmp_path) == bytes_of(whole, tmp_path)
    assert not os.listdir(tmp_path / "mapped"), "the files have no names"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OSError, match="no room to map words"):
        train(corpus, vocab_size=700, max_memory=1)
    train(corpus, vocab_size=700, max_memory=1 << 30)


def test_without_a_state_to_resume_from_it_begins(corpus: str, tmp_path: Path) -> None:
    made = train(corpus, vocab_size=300, state=tmp_path / "state", resume=True)
    assert made.fingerprint() == train(corpus, vocab_size=300).fingerprint()
    assert (tmp_path / "state").exists()


def test_a_state_of_another_training_is_refused(corpus: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    train(corpus, vocab_size=300, state=state)
    for options in (
        {"pattern": "cl100k"},
        {"min_frequency": 2},
        {"special_tokens": ["<|x|>"]},
        {"max_token_length": 3},
    ):
        with pytest.raises(OptionError, match=f"of a training with {next(iter(options))} "):
            train(corpus, vocab_size=310, state=state, resume=True, **options)
    Path(corpus).write_text("other text", encoding="utf-8")
    with pytest.raises(OptionError, match="of a training with source"):
        train(corpus, vocab_size=310, state=state, resume=True)
    with pytest.raises(OptionError, match="resume needs a state"):
        train(corpus, vocab_size=310, resume=True)
    with pytest.raises(OptionError, match="state_every is 0"):
        train(corpus, vocab_size=310, state=state, state_every=0)


def test_a_broken_state_is_named_wherever_it_is_broken(corpus: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    Path(corpus).write_text(text(n=40), encoding="utf-8")
    train(corpus, vocab_size=270, state=state)
    whole = state.read_bytes()
    drawn = random.Random(5)
    for _ in range(120):
        place, size = drawn.randrange(len(whole)), drawn.randrange(len(whole))
        changed = whole[:place] + bytes([whole[place] ^ (1 << drawn.randrange(8))]) + whole[place + 1 :]
        for data in (changed, whole[:size]):
            state.write_bytes(data)
            with pytest.raises((FormatError, OptionError), match=r"state (cannot be resumed|is of a training)"):
                train(corpus, vocab_size=280, state=state, resume=True)
    state.write_bytes(whole + b"\0")
    with pytest.raises(FormatError, match="checksum"):
        train(corpus, vocab_size=280, state=state, resume=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, as on Linux and macOS")
def test_a_process_that_is_killed_again_and_again_ends_with_equal_bytes(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(corpus).write_text(text(n=20_000), encoding="utf-8")
    whole = bytes_of(train(corpus, vocab_size=1200), tmp_path)
    options: dict[str, Any] = {"vocab_size": 1200, "state": tmp_path / "state", "state_every": 5, "threads": 1}
    monkeypatch.setattr(bpe, "VISITS_A_SLICE", 64)
    drawn, killed = random.Random(3), 0
    for _ in range(12):
        child = os.fork()
        if not child:
            try:
                train(corpus, resume=True, **options)
            finally:
                os._exit(0)
        time.sleep(0.05 + drawn.random() * 0.15)
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    made = train(corpus, resume=True, **options)
    assert bytes_of(made, tmp_path) == whole
    assert killed, "each was done before it was killed"
    assert sorted(os.listdir(tmp_path)) == ["corpus.txt", "state", "t.json"], "nothing else is left"
