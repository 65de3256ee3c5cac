"""`tokkit wordvec distill`, and the commands that read the model it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import model_folders
from tokkit import pipeline

if TYPE_CHECKING:
    from conftest import Run


@pytest.fixture
def encoder() -> Path:
    return model_folders.write(Path("encoder"))


def test_a_folder_is_written_that_search_and_similarity_take(run: Run, encoder: Path) -> None:
    done = run("wordvec", "distill", encoder, "-o", "static", "--dims", 6)
    assert (done.exit_code, done.stderr) == (0, "tokkit: static: 19 vectors of 6 dimensions\n")
    Path("notes.txt").write_text("the cat sat on the mat.\n\nmoney of the bank\n")
    done = run("model", "embed", "notes.txt", "-o", "index", "--model", "static", "--tokens", 8, "--overlap", 0)
    assert done.exit_code == 0, done.stderr
    found = json.loads(run("model", "search", "index", "bank money", "--json").stdout)["hits"]
    assert "money of the bank" in found[0]["text"]
    matrix = json.loads(run("model", "similarity", "the cat", "a cat", "--model", "static", "--json").stdout)
    expected = pipeline.load("static").encode(["the cat", "a cat"])
    assert matrix["similarity"][0][1] == pytest.approx(float(expected[0] @ expected[1]), abs=1e-5)


def test_options_reach_the_distillation(run: Run, encoder: Path) -> None:
    Path("words.txt").write_text("river bank\n\ncat\n")
    done = run("wordvec", "distill", encoder, "-o", "static", "--words", "words.txt", "--sif", 0, "--pooling", "cls",
               "--max-length", 7, "--dtype", "float16", "--dims", 4)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    made = pipeline.load("static")
    assert (made.tokenizer.encode("river bank"), made.max_length) == ([19], 7)
    expected = pipeline.distill(
        pipeline.load(encoder), vocabulary=["river bank", "cat"], sif_coefficient=None, pooling="cls", pca_dims=4
    )
    np.testing.assert_allclose(made.vectors, expected.vectors, atol=1e-2)


def test_nothing_is_overwritten_unless_asked_and_an_encoder_never(run: Run, encoder: Path) -> None:
    assert run("wordvec", "distill", encoder, "-o", "static").exit_code == 0
    again = run("wordvec", "distill", encoder, "-o", "static")
    assert again.exit_code == 1
    assert "exists; --force overwrites it" in again.stderr
    assert run("wordvec", "distill", encoder, "-o", "static", "--force").exit_code == 0
    assert run("wordvec", "distill", encoder, "-o", encoder, "--force").exit_code == 2
    other = model_folders.write(Path("other"))
    over = run("wordvec", "distill", encoder, "-o", other, "--force")
    assert over.exit_code == 1
    assert "contains another kind of model; give a new folder" in over.stderr
    assert pipeline.load(other).n_layers == 2


def test_commands_that_need_an_encoder_say_so(run: Run, encoder: Path) -> None:
    run("wordvec", "distill", encoder, "-o", "static")
    for command in (
        ("wordvec", "distill", "static", "-o", "more"), ("model", "attention", "static", "the cat"),
        ("model", "fill-mask", "static", "the [MASK]"),
    ):  # fmt: skip
        done = run(*command)
        assert done.exit_code == 1
        assert "static holds static vectors; this command needs an encoder" in done.stderr
