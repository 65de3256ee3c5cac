"""`tokkit wordvec train`: files of vectors, progress, Ctrl-C and --resume."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from tokkit.embeddings import FastText, KeyedVectors, Word2Vec

Run = Callable[..., Result]


def write_corpus(path: Path, lines: int) -> None:
    rng = np.random.default_rng(0)
    words = [f"{group}{i}" for group in "ab" for i in range(10)]
    groups = rng.integers(0, 2, lines) * 10
    path.write_text("".join(" ".join(words[g + i] for i in rng.integers(0, 10, 6)) + "\n" for g in groups))


@pytest.mark.parametrize("target", ["v.bin", "v.txt", "v.vec.gz", "v.safetensors"])
def test_vectors_are_those_of_the_library(run: Run, tmp_path: Path, target: str) -> None:
    write_corpus(tmp_path / "a.txt", 300)
    done = run("wordvec", "train", "a.txt", "-o", target, "--algorithm", "skip-gram", "--size", 8, "--threads", 1)
    assert done.exit_code == 0, done.stderr
    assert f"{target}: 20 vectors of 8 numbers, from 1,800 words of text" in done.stderr
    expected = Word2Vec(corpus_file=tmp_path / "a.txt", sg=1, vector_size=8, workers=1).wv
    found = KeyedVectors.load(target)
    assert found.index_to_key == expected.index_to_key
    np.testing.assert_allclose(found.vectors, expected.vectors, rtol=1e-5)
    again = run("wordvec", "train", "a.txt", "-o", target)
    assert again.exit_code != 0
    assert "exists" in again.stderr
    assert run("wordvec", "query", target, "a1", "-k", "2").exit_code == 0


def test_progress_has_speed_loss_and_time_left(run: Run, tmp_path: Path) -> None:
    write_corpus(tmp_path / "a.txt", 300)
    done = run(
        "wordvec", "train", "a.txt", "-o", "v.bin", "--progress", "json", "--batched", "--algorithm", "skip-gram"
    )
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert lines[-1].keys() >= {"stage", "done", "total", "words_per_second", "loss", "seconds_left"}
    assert (lines[-1]["stage"], lines[-1]["done"]) == ("5/5", 9000)
    assert 0 < lines[-1]["loss"] < 50
    (tmp_path / "v.bin").unlink()
    done = run("wordvec", "train", "a.txt", "-o", "v.bin", "--progress", "bar")
    assert "words/s  loss" in done.stderr
    assert "left" in done.stderr


def test_tokens_of_a_tokenizer_get_vectors(run: Run, tmp_path: Path, tokenizer: str) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest new newer\n" * 30)
    done = run("wordvec", "train", "a.txt", "-o", "v.safetensors", "--tokenizer", tokenizer, "--cache", "ids")
    assert done.exit_code == 0, done.stderr
    assert " low" in KeyedVectors.load("v.safetensors")
    assert (tmp_path / "ids").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs the signals of Linux or macOS")
@pytest.mark.parametrize("algorithm", ["skip-gram", "fasttext-cbow"])
def test_ctrl_c_leaves_a_checkpoint_and_resume_ends_in_the_same_vectors(
    interrupted: Callable[..., str], run: Run, tmp_path: Path, algorithm: str
) -> None:
    write_corpus(tmp_path / "a.txt", 20_000)
    args = ["wordvec", "train", "a.txt", "--threads", "1", "--algorithm", algorithm, "--size", "16"]
    args += ["--epochs", "4", "--progress", "json", "-o"]
    assert run(*args, "whole.txt").exit_code == 0
    err = interrupted(*args, "v.txt", after=b'"stage"', output="v.txt")
    assert "tokkit: v.txt.checkpoint holds the training so far; the same command with --resume continues" in err
    other = run(*args, "v.txt", "--resume", "--window", "3")
    assert other.exit_code == 2
    assert "made with different options (window)" in other.stderr
    write_corpus(tmp_path / "b.txt", 20_001)
    other = run("wordvec", "train", "b.txt", *args[3:], "v.txt", "--resume")
    assert other.exit_code == 2
    assert "v.txt.checkpoint was made from another corpus" in other.stderr
    done = run(*args, "v.txt", "--resume")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "v.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "v.txt", "whole.txt"]


def test_what_cannot_be_trained_says_why(run: Run, tmp_path: Path, tokenizer: str) -> None:
    write_corpus(tmp_path / "a.txt", 10)
    (tmp_path / "one.txt").write_text("a a a a a a\n")
    for args, message in (
        (["a.txt", "-o", "v"], "has no known suffix"),
        (["a.txt", "-o", "v.bin", "--tokenizer", tokenizer], "only .safetensors files can hold"),
        (["a.txt", "-o", "v.bin", "--resume"], "there is no v.bin.checkpoint to resume"),
        (["a.txt", "-o", "v.bin", "--min-count", "99"], "no word occurs at least 99 times"),
        (["a.txt", "-o", "v.bin", "--negative", "0"], "nothing is trained"),
        (["one.txt", "-o", "v.bin"], "the vocabulary has one word"),
        (["none.txt", "-o", "v.bin"], "none.txt"),
        (["a.txt", "-o", "v.bin", "--algorithm", "no"], "skip-gram"),
    ):
        done = run("wordvec", "train", *args)
        assert done.exit_code in (1, 2)
        assert message in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "one.txt"]


@pytest.mark.parametrize("algorithm", ["fasttext", "fasttext-cbow"])
def test_fasttext_writes_a_model_with_vectors_of_unknown_words_or_vectors_alone(
    run: Run, tmp_path: Path, algorithm: str
) -> None:
    write_corpus(tmp_path / "a.txt", 300)
    common = ("a.txt", "--algorithm", algorithm, "--size", 8, "--threads", 1)
    done = run("wordvec", "train", *common, "-o", "m.bin")
    assert done.exit_code == 0, done.stderr
    assert "m.bin: a model with 20 vectors of 8 numbers, from 1,800 words of text" in done.stderr
    expected = FastText(corpus_file=tmp_path / "a.txt", sg=int(algorithm == "fasttext"), vector_size=8, workers=1).wv
    assert expected is not None
    np.testing.assert_allclose(FastText.load("m.bin").wv["a10"], expected["a10"], rtol=1e-5)
    assert run("wordvec", "oov", "m.bin", "a10", "-k", "2").exit_code == 0
    assert run("wordvec", "train", *common, "-o", "v.vec").exit_code == 0
    np.testing.assert_allclose(KeyedVectors.load("v.vec")["a1"], expected["a1"], rtol=1e-4)
    for wrong, message in (
        (("-o", "w.bin.gz"), "not compressed"), (("-o", "w.vec", "--resume"), "--resume"),
        (("-o", "w.vec", "--batched"), "--batched"),
    ):  # fmt: skip
        refused = run("wordvec", "train", *common, *wrong)
        assert refused.exit_code == 2
        assert message in refused.stderr
        assert not list(tmp_path.glob("w.*"))
