"""A training that was stopped resumes from its state with equal bytes; a damaged state is named."""

from __future__ import annotations

import errno
import os
import random
import signal
import struct
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tokkit.corpus.count_merge import Spills
from tokkit.errors import CorpusError, FormatError, OptionError, TokkitError
from tokkit.trainers import CountFiles, build_counts, resumable, train
from tokkit.trainers.state_file import StateFile

LONG = bool(os.environ.get("TOKKIT_LONG"))
TRAININGS: dict[str, dict[str, Any]] = {
    "bbpe": {},
    "bbpe with limits": {
        "max_token_length": 5,
        "special_tokens": ["ban<"],
        "min_frequency": 3,
        "forbidden_tokens": ["nan", "we"],
    },
    "bpe": {"model": "bpe"},
    "bpe with glossaries": {"model": "bpe", "word_end": "attached", "glossaries": ["ban"], "min_frequency": 2},
    "bpe without some tokens": {"model": "bpe", "forbidden_tokens": ["lo", "n"]},
    "wordpiece": {"model": "wordpiece"},
    "wordpiece by likelihood": {"model": "wordpiece", "score": "likelihood", "limit_alphabet": 9},
    "wordpiece by pmi": {"model": "wordpiece", "score": "pmi", "min_frequency": 3, "forbidden_tokens": ["lo"]},
    "unigram": {"model": "unigram", "required_chars": "xyz", "num_sub_iterations": 1, "shrinking_factor": 0.9},
    "sp-bpe": {"model": "sp-bpe", "hard_vocab_limit": False, "forbidden_tokens": ["lo", " b"]},
}
"""Options of all trainings that take long."""
SIZE = 700
SIZES = dict.fromkeys(TRAININGS, SIZE) | {"unigram": 120}
every_training = pytest.mark.parametrize("name", TRAININGS)


class Stopped(Exception):
    """A training that ends as if its process was killed."""


def text(seed: int = 1, n: int = 4000) -> str:
    drawn = random.Random(seed)
    syllables = ["a", "an", "na", "nan", "ban", "lo", "low", "er", "est", "ü", "日本"]
    return "".join("".join(drawn.choices(syllables, k=drawn.randint(1, 6))) + drawn.choice(" \n") for _ in range(n))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text(text(), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def wholes(corpus: str) -> dict[str, str]:
    return {name: train(corpus, vocab_size=SIZES[name], **TRAININGS[name]).fingerprint() for name in TRAININGS}


def every(name: str, n: int) -> dict[str, int]:
    """Return how often a training is saved: rounds are fewer than merges."""
    return {"state_every": 1 if name == "unigram" else n, "vocab_size": SIZES[name]}


def stopped_after(n: int, monkeypatch: pytest.MonkeyPatch, source: Any, **options: Any) -> None:
    """Train until the state was saved n times."""
    save, left = StateFile.save, [n]

    def count(*args: Any) -> None:
        save(*args)
        left[0] -= 1
        if not left[0]:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(StateFile, "save", count)
        with pytest.raises(Stopped):
            train(source, **options)


@pytest.mark.parametrize("stops", [1, 4, 9] if LONG else [1, 6])
@every_training
def test_a_training_that_goes_on_gives_equal_bytes(
    name: str, stops: int, corpus: str, wholes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = {"state": tmp_path / "state", **every(name, 10), **TRAININGS[name]}
    stopped_after(stops, monkeypatch, corpus, **saved)
    os.utime(corpus, ns=(1, os.stat(corpus).st_mtime_ns))
    monkeypatch.setattr("tokkit.trainers.count_words", None)  # the text is not read again
    assert train(corpus, resume=True, **saved).fingerprint() == wholes[name]
    assert train(corpus, resume=True, **saved).fingerprint() == wholes[name]


@every_training
def test_explain_tells_all_of_a_training_that_goes_on(
    name: str, corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[Any] = []
    train(corpus, vocab_size=SIZES[name], **TRAININGS[name], **explained(name, wanted))
    saved = {"state": tmp_path / "state", **every(name, 25), **TRAININGS[name]}
    stopped_after(3, monkeypatch, corpus, **saved)
    found: list[Any] = []
    train(corpus, resume=True, **saved, **explained(name, found))
    assert found == wanted


def explained(name: str, told: list[Any]) -> dict[str, Any]:
    return {} if name == "sp-bpe" else {"explain": told.append}


def test_tokens_that_several_merges_reach_come_out_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs get further entries in the queue there, whose order and positions decide ids."""
    for seed in range(40 if LONG else 2):
        drawn = random.Random(seed)
        words = {"".join(drawn.choices("ab", k=drawn.randint(2, 12))): drawn.randint(1, 9) for _ in range(60)}
        for options in (
            {"vocab_size": 330, "pattern": None},
            {"vocab_size": 70, "model": "wordpiece", "min_frequency": 1},
            {"vocab_size": 70, "model": "wordpiece", "score": "likelihood", "prefix": "a"},
            {"vocab_size": 70, "model": "wordpiece", "score": "pmi", "prefix": ""},
            {"vocab_size": 70, "model": "bpe"},
            {"vocab_size": 50, "model": "sp-bpe", "hard_vocab_limit": False},
        ):
            whole = train(words, **options).fingerprint()
            saved: dict[str, Any] = {"state": tmp_path / "state", "state_every": 2, **options}
            stopped_after(drawn.randint(1, 9), monkeypatch, words, **saved)
            assert train(words, resume=True, **saved).fingerprint() == whole


@pytest.mark.parametrize("name", [name for name in TRAININGS if name != "unigram"])
def test_a_training_that_has_ended_goes_on_to_a_larger_vocabulary(name: str, corpus: str, tmp_path: Path) -> None:
    options, source, state = TRAININGS[name], corpus, tmp_path / "state"
    train(source, vocab_size=400, state=state, **options)
    made = train(source, vocab_size=[350, 400, 600], state=state, resume=True, **options)
    wanted = train(corpus, vocab_size=[350, 400, 600], **options)
    assert [tok.fingerprint() for tok in made] == [tok.fingerprint() for tok in wanted]


@every_training
def test_words_and_positions_in_mapped_files_give_equal_bytes(
    name: str, corpus: str, wholes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**every(name, 20), "max_memory": 1, **TRAININGS[name]}
    if options.get("model") == "bpe":
        with pytest.raises(CorpusError, match=r"need about \S+ MB, more than max_memory"):
            train(corpus, **options)
        return
    (tmp_path / "mapped").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "mapped"))
    assert train(corpus, **options).fingerprint() == wholes[name]
    saved = {"state": tmp_path / "state", **options}
    stopped_after(3, monkeypatch, corpus, **saved)
    assert train(corpus, resume=True, **saved).fingerprint() == wholes[name]
    if options.get("model") != "bpe":
        special = {"special_tokens": options["special_tokens"]} if "special_tokens" in options else {}
        build_counts(corpus, tmp_path / "counts", model=options.get("model", "bbpe"), **special)
        assert train(CountFiles(tmp_path / "counts"), **options).fingerprint() == wholes[name]
    assert not os.listdir(tmp_path / "mapped"), "the files have no names"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OSError, match="too little space"):
        train(corpus, **options)
    train(corpus, **{**options, "max_memory": 1 << 30})


@pytest.mark.parametrize("threads", [1, 2])
@every_training
def test_a_text_whose_words_exceed_the_bound_is_counted_in_files(
    name: str, threads: int, corpus: str, wholes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if TRAININGS[name].get("model") == "bpe":
        return  # whose words are in the order of the text
    spilled: list[int] = []
    add = Spills.add
    monkeypatch.setattr(Spills, "add", lambda self, table: (spilled.append(len(table)), add(self, table)))
    monkeypatch.setattr("tokkit.trainers.bounded_counts.MIN_MEMORY", 1)
    monkeypatch.setattr("tokkit.trainers.counts.MAX_RAW_BYTES", 1)
    monkeypatch.setattr("tokkit.corpus.count_merge.MAX_RUNS", 3)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    texts = text().splitlines(keepends=True)
    made = train(iter(texts), max_memory=1, threads=threads, vocab_size=SIZES[name], **TRAININGS[name])
    assert made.fingerprint() == wholes[name]
    assert spilled, "a table was full"
    assert not os.listdir(tmp_path), "and nothing is left"
    many = (f"{word} {number}\n" for number in range(9000) for word in texts[number % 9].split() if word.strip())
    with pytest.raises(CorpusError, match="not UTF-8"):
        train((line.encode() if n < 8000 else b"\xff" for n, line in enumerate(many)), max_memory=1)
    assert not os.listdir(tmp_path)


@every_training
def test_without_a_state_to_resume_from_it_begins(
    name: str, corpus: str, wholes: dict[str, str], tmp_path: Path
) -> None:
    made = train(corpus, state=tmp_path / "state", resume=True, **every(name, 1000), **TRAININGS[name])
    assert made.fingerprint() == wholes[name]
    assert (tmp_path / "state").exists()


OTHERS: dict[str, list[dict[str, Any]]] = {
    "bbpe": [{"pattern": "cl100k"}, {"min_frequency": 2}, {"special_tokens": ["<|x|>"]}, {"max_token_length": 3}],
    "bpe": [{"suffix": "</x>"}, {"lowercase": True}, {"glossaries": ["low"]}],
    "wordpiece": [{"score": "pmi"}, {"prefix": "@"}, {"strip_accents": True}, {"initial_alphabet": "q"}],
    "unigram": [{"token_cost": 1.0}, {"seed_sentencepiece_size": 99}, {"split_digits": True}],
    "sp-bpe": [{"character_coverage": 0.5}, {"normalization_rules": {"a": "b"}}, {"split_digits": True}],
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_state_of_another_training_is_refused(name: str, corpus: str, tmp_path: Path) -> None:
    state, other = tmp_path / "state", tmp_path / "other.txt"
    size = SIZES[name]
    given = {"vocab_size": size, "state": state, **TRAININGS[name]}
    train(corpus, **given)
    for options in OTHERS[name]:
        with pytest.raises(OptionError, match=rf"state was saved by a training with {next(iter(options))} .*, not "):
            train(corpus, resume=True, **{**given, **options})
    for model in set(OTHERS) - {name}:
        with pytest.raises(OptionError, match=f"was saved by a training with model '{name}', not '{model}'"):
            train(corpus, vocab_size=700, state=state, resume=True, model=model)
    other.write_text("other text", encoding="utf-8")
    with pytest.raises(OptionError, match=r"state was saved by a training on \S+corpus.txt, not on \S+other.txt$"):
        train(other, resume=True, **given)
    with pytest.raises(OptionError, match=r"training on \S+corpus.txt, not on a mapping of 2 words"):
        train({"low": 1, "lower": 2}, resume=True, **given)
    with pytest.raises(OptionError, match=r"on \S+corpus.txt, as it was before"):
        train(corpus, resume=True, unit="paragraph", **given)
    with pytest.raises(OptionError, match="resume needs a state"):
        train(corpus, **{**given, "state": None, "resume": True})
    with pytest.raises(OptionError, match="state_every is 0"):
        train(corpus, state_every=0, **given)


def test_a_state_of_other_words_or_of_changed_files_is_refused(tmp_path: Path) -> None:
    words, state = {"low": 5, "lower": 2, "é": 1}, tmp_path / "state"
    train(words, vocab_size=260, state=state)
    assert train(dict(reversed(words.items())), vocab_size=260, state=state, resume=True).n_ids == 260
    with pytest.raises(OptionError, match="by a training on a mapping of 3 words, as it was before"):
        train({**words, "low": 6}, vocab_size=260, state=state, resume=True)
    paths = [tmp_path / f"{k}.txt" for k in range(5)]
    for path in paths:
        path.write_text("low lower lowest", encoding="utf-8")
    train(paths, vocab_size=260, state=state)
    train(paths[::-1], vocab_size=260, state=state, resume=True)
    with pytest.raises(OptionError, match=r"0.txt, \S+1.txt, \S+2.txt and 2 more, not on \S+0.txt, \S+1.txt$"):
        train(paths[:2], vocab_size=260, state=state, resume=True)
    paths[0].write_text("low lower", encoding="utf-8")
    with pytest.raises(OptionError, match="and 2 more, as it was before"):
        train(paths, vocab_size=260, state=state, resume=True)


def test_a_state_of_unigram_is_of_one_size(corpus: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="a state of unigram works for one size"):
        train(corpus, model="unigram", vocab_size=[100, 120], state=tmp_path / "state")
    train(corpus, model="unigram", vocab_size=120, state=tmp_path / "state")
    with pytest.raises(OptionError, match="was saved by a training with n_pieces 117, not 97"):
        train(corpus, model="unigram", vocab_size=100, state=tmp_path / "state", resume=True)


def test_models_without_merges_or_rounds_have_no_state(tmp_path: Path) -> None:
    for model in ("word", "char", "hybrid", "sp-word", "sp-char"):
        with pytest.raises(OptionError, match="state is not an option of the model"):
            train({"a": 1}, model=model, state=tmp_path / "state")


@every_training
def test_a_broken_state_is_named_wherever_it_is_broken(name: str, tmp_path: Path) -> None:
    state, path = tmp_path / "state", tmp_path / "corpus.txt"
    path.write_text(text(n=40), encoding="utf-8")
    size = {"bbpe": 270, "bbpe with limits": 270, "unigram": 40}.get(name, 60)
    train(str(path), vocab_size=size, state=state, **TRAININGS[name])
    whole = state.read_bytes()
    drawn = random.Random(5)
    given = {"vocab_size": size, "state": state, "resume": True, **TRAININGS[name]}
    for _ in range(2000 if LONG else 10):
        place, length = drawn.randrange(len(whole)), drawn.randrange(len(whole))
        changed = whole[:place] + bytes([whole[place] ^ (1 << drawn.randrange(8))]) + whole[place + 1 :]
        for data in (changed, whole[:length]):
            state.write_bytes(data)
            with pytest.raises((FormatError, OptionError), match=r"state (cannot be resumed|was saved by a training)"):
                train(str(path), **given)
    state.write_bytes(whole + b"\0")
    with pytest.raises(FormatError, match="checksum"):
        train(str(path), **given)


@every_training
def test_a_state_that_somebody_made_up_is_refused_or_trained_from(name: str, tmp_path: Path) -> None:
    """Its checksum is right, and its numbers are anything: nothing may be read or written beyond the arrays."""
    state = tmp_path / "state"
    counts = Counter(text().split())
    words = {word: counts[word] for word in text(n=60).split()}
    size = {"bbpe": 270, "bbpe with limits": 270, "unigram": 40}.get(name, 60)
    given = {"vocab_size": size, "state": state, **TRAININGS[name]}
    train(words, **given)
    whole = state.read_bytes()
    head = 28 + sum(struct.unpack_from("<II", whole, 20))
    drawn = random.Random(7)
    refused = 0
    for _ in range(3000 if LONG else 60):
        data = bytearray(whole[:-4])
        for _ in range(drawn.randint(1, 3)):
            place = drawn.randrange(head, len(data))
            wide = drawn.choice([1, 2, 4, 8])
            value = drawn.choice([0, 1, 255, 1 << 16, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, drawn.getrandbits(64)])
            data[place : place + wide] = (value % (1 << 8 * wide)).to_bytes(wide, "little")
        del data[len(whole) - 4 :]
        state.write_bytes(data + zlib.crc32(data).to_bytes(4, "little"))
        try:
            train(words, resume=True, **given)
        except TokkitError:
            refused += 1
    assert refused, "no array is checked"


class FullDisk:
    """A disk that is full after some bytes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def __call__(self, file: Any, data: Any) -> int:
        self.room -= len(memoryview(data).cast("B"))
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return file._file.write(data)


@every_training
def test_a_full_disk_leaves_the_older_state(
    name: str, corpus: str, wholes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = {"state": tmp_path / "state", **every(name, 50), **TRAININGS[name]}
    stopped_after(2, monkeypatch, corpus, **saved)
    before = (tmp_path / "state").read_bytes()
    full = FullDisk(len(before) // 2)
    with monkeypatch.context() as patch:
        patch.setattr("tokkit.trainers.state_file._Checked.write", lambda file, data: full(file, data))
        with pytest.raises(OSError, match=f"{os.strerror(errno.ENOSPC)}.*state"):
            train(corpus, resume=True, **saved)
    assert (tmp_path / "state").read_bytes() == before
    assert os.listdir(tmp_path) == ["state"]
    assert train(corpus, resume=True, **saved).fingerprint() == wholes[name]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, as on Linux and macOS")
@every_training
def test_a_process_that_is_killed_again_and_again_ends_with_equal_bytes(
    name: str, corpus: str, wholes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run but the first begins with what the last one saved, so it loses no more than an interval."""
    saved: dict[str, Any] = {"state": tmp_path / "state", **every(name, 20), **TRAININGS[name]}
    monkeypatch.setattr(resumable, "VISITS_A_SLICE", 64)
    save = StateFile.save

    def slowly(*args: Any) -> None:
        save(*args)
        time.sleep(0.01)

    monkeypatch.setattr(StateFile, "save", slowly)
    drawn, killed, wanted = random.Random(3), 0, 40 if LONG else 2
    for _ in range(4 * wanted):
        if killed == wanted:
            break
        child = os.fork()
        if not child:
            try:
                train(corpus, resume=True, threads=1, **saved)
            finally:
                os._exit(0)
        time.sleep(0.02 + drawn.random() * 0.08)
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert killed, "each was done before it was killed"
    assert train(corpus, resume=True, **saved).fingerprint() == wholes[name]
    assert os.listdir(tmp_path) == ["state"], "nothing else is left"
