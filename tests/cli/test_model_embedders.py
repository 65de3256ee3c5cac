"""A decoder that makes embeddings works as an encoder in commands: index, similarity, server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import generators
from tokkit import pipeline
from tokkit.cli.models import load_served
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from conftest import Run


def test_passages_and_queries_are_read_after_their_prompts(run: Run) -> None:
    folder = generators.embedder(Path("embedder"))
    model = pipeline.load(folder)
    Path("notes.txt").write_text("the cat sat on the mat\n\nthe dog sat on the log\n")
    made = run("model", "embed", "notes.txt", "-o", "index", "--model", "embedder", "--tokens", 16, "--overlap", 0)
    assert made.exit_code == 0, made.stderr
    found = json.loads(run("model", "search", "index", "the log", "--json").stdout)
    query = model.encode("the log", prompt_name="query")
    expected = [float(query @ model.encode(hit["text"])) for hit in found["hits"]]
    assert [hit["score"] for hit in found["hits"]] == pytest.approx(expected, abs=1e-4)
    assert len(expected) > 0


def test_a_server_has_one_decoder_for_text_and_one_for_vectors(tmp_path: Path) -> None:
    text, vectors = str(generators.folder(tmp_path / "text")), str(generators.embedder(tmp_path / "vectors"))
    generator, encoder = load_served([vectors, text])
    assert isinstance(generator, pipeline.TextGenerator)
    assert isinstance(encoder, pipeline.SentenceEncoder)
    assert encoder.encode("the cat", truncate_dim=5).shape == (5,)
    with pytest.raises(OptionError, match="second encoder"):
        load_served([vectors, vectors])


def test_a_folder_that_makes_vectors_generates_no_text(run: Run) -> None:
    generators.embedder(Path("embedder"))
    made = run("model", "generate", "embedder", "the cat")
    assert (made.exit_code, "holds an encoder" in made.stderr) == (1, True)
    assert run("model", "quantize", "embedder", "-o", "small", "--precision", "int8").exit_code == 0
    made = run("model", "generate", "small", "the cat")
    assert (made.exit_code, "holds an encoder" in made.stderr) == (1, True)
    generators.embedder(Path("both"), is_causal=False)
    Path("both/modules.json").unlink()
    made = run("model", "quantize", "both", "-o", "other", "--precision", "int8")
    assert made.exit_code == 0, made.stderr
    assert run("model", "embed", "other", "--text", "the cat").exit_code in (0, 2)
