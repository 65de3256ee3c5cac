"""`tokkit wordvec train --algorithm glove`: vectors, progress, Ctrl-C and --resume."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from tokkit.embeddings import GloVe, KeyedVectors

Run = Callable[..., Result]
GLOVE = ("wordvec", "train", "a.txt", "--algorithm", "glove", "--size", "8", "--threads", "1")


def write_corpus(path: Path, lines: int, n_words: int = 20) -> None:
    words = np.random.default_rng(0).integers(0, n_words, (lines, 6))
    path.write_text("".join(" ".join(f"w{i}" for i in line) + "\n" for line in words))


def test_vectors_are_those_of_the_library(run: Run, tmp_path: Path) -> None:
    write_corpus(tmp_path / "a.txt", 300)
    done = run(*GLOVE, "-o", "v.bin", "--progress", "json")
    assert done.exit_code == 0, done.stderr
    model = GloVe(corpus_file=tmp_path / "a.txt", vector_size=8, threads=1)
    first, last = model.losses[0], model.losses[-1]
    assert "v.bin: 20 vectors of 8 numbers, from 1,800 words of text" in done.stderr
    assert f"loss {first:.4f} in the first epoch, {last:.4f} in the last" in done.stderr
    found = KeyedVectors.load("v.bin")
    assert found.index_to_key == model.wv.index_to_key
    np.testing.assert_allclose(found.vectors, model.wv.vectors, rtol=1e-5)
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert lines[-1].keys() >= {"stage", "done", "total", "pairs_per_second", "loss", "seconds_left"}
    assert lines[-1]["done"] == lines[-1]["total"]


@pytest.mark.skipif(os.name != "posix", reason="needs the signals of Linux or macOS")
def test_ctrl_c_leaves_a_checkpoint_and_resume_ends_in_the_same_vectors(
    interrupted: Callable[..., str], run: Run, tmp_path: Path
) -> None:
    write_corpus(tmp_path / "a.txt", 20_000, 1000)
    args = [*GLOVE, "--size", "200", "--epochs", "8", "--progress", "json", "-o"]
    assert run(*args, "whole.bin").exit_code == 0
    err = interrupted(*args, "v.bin", after=b'"train"', output="v.bin")
    assert "tokkit: v.bin.checkpoint holds the training so far; the same command with --resume continues" in err
    other = run(*args, "v.bin", "--resume", "--window", "3")
    assert other.exit_code == 2
    assert "made with different options (window)" in other.stderr
    done = run(*args, "v.bin", "--resume")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "v.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "v.bin", "whole.bin"]


def test_what_cannot_be_trained_says_why(run: Run, tmp_path: Path) -> None:
    write_corpus(tmp_path / "a.txt", 10)
    for args, message in (
        (["--resume"], "there is no v.bin.checkpoint to resume"),
        (["--negative", "3"], "--negative applies to word2vec, not to glove"),
        (["--min-alpha", "0.1"], "--min-alpha applies to word2vec"),
        (["--min-count", "99"], "no word occurs at least 99 times"),
        (["--alpha", "0"], "learning_rate is 0.0"),
    ):
        done = run(*GLOVE, "-o", "v.bin", *args)
        assert done.exit_code in (1, 2)
        assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
