"""`tokkit wordvec plot`: files written, and errors for mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from extras import extra
from tokkit.embeddings import KeyedVectors

if TYPE_CHECKING:
    from conftest import Run

KEYS = [f"word{i}" for i in range(600)]


@pytest.fixture
def vectors(run: Run) -> Path:
    """Vectors with counts in a file of ours, and without in one of word2vec's; in the folder of the test."""
    made = np.random.default_rng(0).standard_normal((600, 5)).astype(np.float32)
    KeyedVectors.of(KEYS, made, np.arange(600)[::-1] ** 2 + 1).save("vectors.safetensors")
    KeyedVectors.of(KEYS, made).save_word2vec_format("vectors.bin", binary=True)
    return Path("vectors.safetensors")


def data_of(path: str) -> dict[str, object]:
    page = Path(path).read_text(encoding="utf-8")
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])


def test_the_first_words_of_a_file_are_drawn_with_their_counts(run: Run, vectors: Path) -> None:
    done = run("wordvec", "plot", vectors, "-o", "map.html")
    assert (done.exit_code, done.stdout) == (0, "map.html: 500 words of 600, 5 dimensions\n")
    made = data_of("map.html")
    assert made["words"][:500] == KEYS[:500]
    assert made["counts"][0] == 599**2 + 1
    assert "<h1>Word vectors: vectors.safetensors</h1>" in Path("map.html").read_text()
    again = run("wordvec", "plot", vectors, "-o", "map.html", "--top", 3)
    assert again.exit_code == 1
    assert "map.html exists; --force overwrites it" in again.stderr
    done = run("wordvec", "plot", vectors, "-o", "map.html", "--top", 3, "--force")
    assert done.stdout == "map.html: 3 words of 600, 5 dimensions\n"


def test_words_are_chosen_and_files_without_counts_show_none(run: Run, vectors: Path) -> None:
    arguments = ("wordvec", "plot", "vectors.bin", "--words", "word7  word3", "--words", "word99", "--limit", 100)
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (0, "words.html: 3 words of 100, 5 dimensions\n")
    made = data_of("words.html")
    assert made["words"][:3] == ["word7", "word3", "word99"]
    assert set(made["words"]) <= set(KEYS[:100])
    assert made["counts"] is None


def test_a_picture_is_drawn_where_matplotlib_is_installed(run: Run, vectors: Path) -> None:
    extra("matplotlib")
    done = run("wordvec", "plot", vectors, "-o", "map.png", "--top", 20)
    assert (done.exit_code, done.stderr) == (0, "")
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")


def test_tsne_is_drawn_where_scikit_learn_is_installed(run: Run, vectors: Path) -> None:
    extra("sklearn")
    for seed in (1, 2):
        arguments = ("wordvec", "plot", vectors, "-o", f"{seed}.html", "--top", 9, "--method", "tsne", "--seed", seed)
        assert run(*arguments).exit_code == 0
    first, second = data_of("1.html"), data_of("2.html")
    assert first["about"].startswith("t-SNE of 9 of 600 words")
    assert first["near"] == second["near"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("-o", "map.svg"), 2, "'map.svg' ends in neither .html nor .png"),
        (("--words", "word1", "--top", "5"), 2, "--words and --top both choose"),
        (("--words", "word1 nobody"), 1, "'nobody': not among the 600 keys"),
        (("--words", " "), 1, "0 words to draw"),
        (("-o", "vectors.safetensors", "--force"), 2, "ends in neither"),
    ],
)
def test_what_cannot_be_drawn_is_told(
    run: Run, vectors: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run("wordvec", "plot", vectors, *arguments)
    assert done.exit_code == code
    assert said in done.stderr
    assert not list(Path().glob("*.html"))
