"""`tokkit model quantize` on the command line, and the commands that take what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import generators
import model_folders
from tokkit import pipeline
from tokkit.pipeline.perplexity import text_score

if TYPE_CHECKING:
    from conftest import Run


def test_vectors_and_scores_are_compared_line_by_line(run: Run) -> None:
    Path("lines.txt").write_text("the cat sat\tthe mat\nthe river bank\n")
    encoder, classifier = model_folders.write(Path("e")), model_folders.classifier(Path("c"), ["no", "yes"])
    done = run("model", "quantize", encoder, "-o", "e8", "--precision", "int8", "--text", "lines.txt")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["model", "weights", "cosine", "least", "cosine"]
    done = run("model", "quantize", classifier, "-o", "c8", "--precision", "int8", "--text", "lines.txt", "--json")
    before, after = json.loads(done.stdout)
    assert before.keys() == {"model", "bytes"}
    assert after["same_label"] == 1
    assert after["bytes"] < before["bytes"]
    assert run("model", "classify", "c8", "the cat").exit_code == 0


def test_the_command_writes_a_folder_and_prints_sizes_and_perplexities(run: Run) -> None:
    source = generators.folder(Path("source"), hidden_size=64, intermediate_size=96)
    Path("notes.txt").write_text("the cat sat on the mat; " * 20)
    done = run("model", "quantize", source, "-o", "packed", "--text", "notes.txt", "--json")
    assert done.exit_code == 0, done.stderr
    before, after = json.loads(done.stdout)
    assert after["bytes"] == Path("packed/packed.safetensors").stat().st_size < before["bytes"] / 3
    for row in (before, after):
        expected = text_score(pipeline.load(row["model"]), Path("notes.txt").read_text()).perplexity
        assert row["perplexity"] == pytest.approx(expected, rel=1e-5)
    done = run("model", "quantize", source, "-o", "packed", "--precision", "int8", "--force")
    assert done.stdout.splitlines()[0].split() == ["model", "weights"]
    assert done.stdout.splitlines()[2].startswith("packed")
    assert run("model", "next", "packed", "the cat").exit_code == 0
    assert run("model", "quantize", source, "-o", "packed").exit_code == 1
