"""What a document is: by default whole files for models that keep line ends, read in blocks that change nothing."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

import tokkit
from tokkit import limits
from tokkit.corpus import readers
from tokkit.corpus.readers import Corpus
from tokkit.errors import CorpusError
from tokkit.pretokenizers import patterns
from tokkit.trainers import CountFiles, build_counts, options_of
from tokkit.trainers.counts import Reporter, count_words

CODE = "def f(x):\n    if x:\n        return [\n            x,\n        ]\n\n    return None\n\n\n" * 30
CHARACTERS = "ab 1'\n\n\t é。漢,.!ー\u00a0\u3000\r🙂s"
OWN = [r"[a-z]+(?=[0-9])|\s+|.", r"\w+|[^\w\s]+", r" ?\p{L}+|\s+(?!\S)|\s+|[^\s\p{L}]+"]
MODELS = [
    *(("bbpe", {"pattern": name}) for name in (*patterns.NAMES, *OWN, "none")),
    *((model, {"pattern": name}) for model in ("word", "hybrid") for name in ("gpt2", "o200k", OWN[0])),
    ("word", {"pattern": "o200k", "lowercase": True}),
    ("word", {}),
    ("wordpiece", {}),
    ("char", {}),
]


def counted(path: Path, model: str, options: dict, *, threads: int = 1, at_once: bool = False) -> list:
    counter = options_of(model, options).counter()
    assert counter is not None
    counter = replace(counter, cut=None) if at_once else counter
    table = count_words(Corpus(path, unit="file"), counter, threads=threads, report=Reporter(None))
    return sorted(table.items())


@pytest.mark.parametrize(("model", "options"), MODELS, ids=str)
def test_blocks_of_a_file_have_the_words_of_the_whole(model, options, tmp_path, monkeypatch) -> None:
    rng, path, cut = random.Random(7), tmp_path / "a.txt", 0
    for _ in range(30):
        text = "".join(rng.choice(CHARACTERS if rng.random() < 0.4 else "ab ") for _ in range(rng.randint(1, 300)))
        path.write_bytes(rng.choice([b"", b"\xef\xbb\xbf"]) + text.encode())
        monkeypatch.setattr(readers, "BLOCK_BYTES", 1 << 20)
        whole = counted(path, model, options, at_once=True)
        monkeypatch.setattr(readers, "BLOCK_BYTES", rng.choice([7, 16, 33]))
        cut += len(list(Corpus(path, unit="file").blocks(options_of(model, options).counter().cut))) > 1
        assert counted(path, model, options, threads=rng.randint(1, 3)) == whole, text
    assert cut > 5 or options == {"pattern": "none"}


@pytest.mark.parametrize(("model", "options"), MODELS, ids=str)
def test_blocks_with_special_tokens_have_the_words_of_the_whole(model, options, tmp_path, monkeypatch) -> None:
    rng, path, cut = random.Random(8), tmp_path / "a.txt", 0
    special = ["[UNK]", "<e>", "<e>b", "a<", "漢b a"]
    options = {**options, "special_tokens": special}
    for _ in range(30):
        parts = [*special, *CHARACTERS, "ab ", "<", "e>"]
        text = "".join(rng.choice(special if rng.random() < 0.1 else parts) for _ in range(rng.randint(1, 200)))
        path.write_text(text, encoding="utf-8", newline="")
        monkeypatch.setattr(readers, "BLOCK_BYTES", 1 << 20)
        whole = counted(path, model, options, at_once=True)
        monkeypatch.setattr(readers, "BLOCK_BYTES", rng.choice([7, 16, 33]))
        cut += len(list(Corpus(path, unit="file").blocks(options_of(model, options).counter().cut))) > 1
        assert counted(path, model, options, threads=rng.randint(1, 3)) == whole, text
    assert cut > 5


def test_a_text_without_a_pattern_is_cut_between_its_chunks(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("aé漢🙂" * 40_000 + "bb")
    options = {"pattern": "none"}
    assert len(list(Corpus(path, unit="file").blocks(options_of("bbpe", options).counter().cut))) > 0
    assert counted(path, "bbpe", options) == counted(path, "bbpe", options, at_once=True)
    (tmp_path / "b.txt").write_text("x" * 3_000_000)
    assert len(list(Corpus(tmp_path / "b.txt", unit="file").blocks(options_of("bbpe", options).counter().cut))) > 2
    assert counted(tmp_path / "b.txt", "bbpe", options) == counted(tmp_path / "b.txt", "bbpe", options, at_once=True)


def test_a_large_file_is_never_held_whole(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.txt").write_text(CODE * 50)
    monkeypatch.setattr(readers, "BLOCK_BYTES", 1000)
    for pattern in ("gpt2", OWN[2]):
        cut = options_of("bbpe", {"pattern": pattern}).counter().cut
        blocks = [block.data for block in Corpus(tmp_path / "a.txt", unit="file").blocks(cut)]
        assert b"".join(blocks).decode() == CODE * 50
        assert max(map(len, blocks)) <= 1000


def test_byte_level_models_take_files_and_learn_what_follows_a_line_end(tmp_path) -> None:
    path = tmp_path / "code.py.txt"
    path.write_text(CODE)
    by_file, by_line = (tokkit.train(path, vocab_size=290, unit=unit) for unit in (None, "line"))
    assert by_file.fingerprint() == tokkit.train(path, vocab_size=290, unit="file").fingerprint()
    assert by_file.count(CODE) < by_line.count(CODE)
    after = [token for token in by_file.vocab if b"\n " in token]
    assert after
    assert not [token for token in by_line.vocab if b"\n " in token]
    assert by_file.fingerprint() == tokkit.train(iter([CODE]), vocab_size=290).fingerprint()
    for threads in (1, 2, 3):
        assert tokkit.train(path, vocab_size=290, threads=threads).fingerprint() == by_file.fingerprint()


@pytest.mark.parametrize(
    ("model", "options", "unit"),
    [
        ("bbpe", {}, "file"),
        ("word", {"pattern": "cl100k"}, "file"),
        ("hybrid", {"pattern": r"\S+|\s+"}, "file"),
        ("word", {}, "line"),
        ("hybrid", {"pattern": "whitespace"}, "line"),
        ("bpe", {}, "line"),
        ("wordpiece", {}, "line"),
        ("char", {}, "line"),
        *((model, {}, "line") for model in ("unigram", "sp-bpe", "sp-word", "sp-char")),
    ],
)
def test_the_unit_is_the_models(model, options, unit, tmp_path) -> None:
    assert options_of(model, options).unit == unit
    if model in ("bbpe", "word", "sp-word"):
        (tmp_path / "a.txt").write_text(CODE)
        build_counts(tmp_path / "a.txt", tmp_path / "counts", model=model, **options)
        assert CountFiles(tmp_path / "counts").header.unit == unit


def test_counts_and_mixtures_of_files_train_the_same_tokenizer(tmp_path) -> None:
    (tmp_path / "a.txt").write_text(CODE)
    whole = tokkit.train(tmp_path / "a.txt", vocab_size=300).fingerprint()
    build_counts(tmp_path / "a.txt", tmp_path / "counts")
    assert tokkit.train(CountFiles(tmp_path / "counts"), vocab_size=300).fingerprint() == whole
    mixture = tokkit.trainers.Mixture({"code": tmp_path / "a.txt"})
    assert tokkit.train(mixture, vocab_size=300).fingerprint() == whole


def test_a_file_without_a_place_to_cut_is_an_error_that_says_what_to_do(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(readers, "BLOCK_BYTES", 100)
    (tmp_path / "a.txt").write_text("a" * 5000 + "\nb\n")
    with limits.using(held_bytes=1000), pytest.raises(CorpusError, match=r'a\.txt: .* no place to cut; unit="line"'):
        tokkit.train(tmp_path / "a.txt", vocab_size=260)
    with limits.using(held_bytes=10_000):
        assert tokkit.train(tmp_path / "a.txt", vocab_size=260).n_ids == 260
    (tmp_path / "b.txt").write_text("ab b\n" * 1000)
    look_behind = r"(?<=ab)b|\s+|."
    with limits.using(held_bytes=10_000), pytest.raises(CorpusError, match="split as a whole"):
        tokkit.train(tmp_path / "b.txt", vocab_size=260, pattern=look_behind)
    with limits.using(held_bytes=10_000):
        assert tokkit.train(tmp_path / "b.txt", vocab_size=260, pattern=look_behind, unit="line").n_ids <= 260


def test_invalid_text_is_named_by_its_offset_or_replaced(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(readers, "BLOCK_BYTES", 50)
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + b"low lower " * 20 + b"\xff new" * 10)
    with pytest.raises(CorpusError, match=r"a\.txt: byte 203 \(0xff\) is not UTF-8"):
        tokkit.train(tmp_path / "a.txt", vocab_size=260)
    for errors, instead in (("replace", "\ufffd"), ("ignore", "")):
        made = tokkit.train(tmp_path / "a.txt", vocab_size=262, input_errors=errors)
        text = "low lower " * 20 + f"{instead} new" * 10
        assert made.fingerprint() == tokkit.train(iter([text]), vocab_size=262).fingerprint()
