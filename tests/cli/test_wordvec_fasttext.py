"""What `tokkit wordvec classify` and `tokkit wordvec oov` print and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tokkit.embeddings import FastText, TextClassifier
from tokkit.embeddings.fasttext import load_facebook_vectors

if TYPE_CHECKING:
    from conftest import Run

TRAIN = ("wordvec", "classify", "--train", "lines.txt", "--size", 8, "--threads", 1, "--alpha", 0.5)


@pytest.fixture
def lines() -> None:
    Path("lines.txt").write_text("__label__en the cat and the dog\n__label__de die Katze und der Hund\n" * 50)


def test_a_classifier_is_trained_tested_and_used(run: Run, lines: None) -> None:
    out = run(*TRAIN, "-o", "m.bin", "--max-n", 3, "--min-n", 2, "--bucket", 500, "--test", "lines.txt")
    assert out.stdout == "100 lines, 1 labels each: precision 1.0000, recall 1.0000\n", out.stderr
    assert TextClassifier.load("m.bin").data.args.max_n == 3
    out = run("wordvec", "classify", "--model", "m.bin", "--test", "lines.txt", "-k", 2, "--json")
    assert json.loads(out.stdout) == {"lines": 100, "k": 2, "precision": 0.5, "recall": 1.0}
    out = run("wordvec", "classify", "--model", "m.bin", "-k", 2, input="the dogs\nKatzen\n")
    assert [line.split()[0] for line in out.stdout.splitlines()] == ["__label__en", "__label__de"]
    Path("texts").write_text("und\n")
    found = json.loads(run("wordvec", "classify", "--model", "m.bin", "texts", "--json").stdout)
    assert [pair["label"] for pair in found] == ["__label__de"]
    out = run(*TRAIN, "--model", "m.bin", "-o", "further.bin", "--json")
    assert json.loads(out.stdout) == {"model": "further.bin", "words": 10, "labels": 2}
    assert TextClassifier.load("further.bin").data.args.max_n == 3


def test_a_name_that_ends_in_ftz_makes_a_small_file(run: Run, lines: None) -> None:
    assert run(*TRAIN, "-o", "m.ftz").exit_code == 0
    assert repr(TextClassifier.load("m.ftz")) == "TextClassifier<labels=2, words=10, dim=8, quantized>"
    assert "--force overwrites it" in run(*TRAIN, "-o", "m.ftz").stderr


def test_what_classify_needs_is_said(run: Run, lines: None) -> None:
    assert "--train needs --output" in run("wordvec", "classify", "--train", "lines.txt").stderr
    assert "give --model, or --train" in run("wordvec", "classify", "lines.txt").stderr


def test_words_that_training_never_saw_have_neighbours(run: Run) -> None:
    texts = ["sail sails sailing mast masts", "cat cats dog dogs"] * 60
    FastText(texts, min_count=1, vector_size=8, bucket=900, workers=1, epochs=20, sample=0).save("m.bin")
    out = run("wordvec", "oov", "m.bin", "sailed", "cat", "-k", 2)
    heads = [line for line in out.stdout.splitlines() if line.startswith("#")]
    assert heads == ["# sailed (not in the vocabulary)", "# cat"]
    assert len(out.stdout.splitlines()) == 6
    found = json.loads(run("wordvec", "oov", "m.bin", "sailed", "-k", 3, "--subwords", "--json").stdout)
    assert (found["word"], found["known"], len(found["nearest"])) == ("sailed", False, 3)
    wv = load_facebook_vectors("m.bin")
    strange = next(c for c in "ωξψχφ" if not wv[c].any())  # others share the bucket of an n-gram that was trained
    out = run("wordvec", "oov", "m.bin", strange)
    assert (out.exit_code, "has none of its n-grams" in out.stderr) == (1, True)
    FastText(texts, min_count=1, vector_size=8, max_n=0, workers=1).save("words.bin")
    out = run("wordvec", "oov", "words.bin", "sailed")
    assert out.exit_code != 0
    assert "none of its n-grams" in out.stderr
