"""What `tokkit wordvec query`, `analogy`, `similarity`, `eval` and `convert` print and write."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokkit.embeddings import KeyedVectors

if TYPE_CHECKING:
    from conftest import Run

NAMES = ["man", "woman", "king", "queen", "boy", "girl", "Stone"]
VECTORS = [[1, 0, 1], [1, 1, 1], [2, 0, 0.2], [2, 1, 0.2], [1, 0, 5], [1, 1, 5], [-9, 0, 0]]


@pytest.fixture
def words(run: Run) -> KeyedVectors:
    made = KeyedVectors.of(NAMES, np.array(VECTORS, dtype=np.float32), range(7, 0, -1))
    made.save_word2vec_format("words.bin", binary=True)
    Path("questions").write_text(": royal\nman woman king queen\nman woman boy stone\na b c d\none\n")
    Path("pairs").write_text("man,woman,9\nman,stone,1\nking,queen,8\nking,x,5\nno\n")
    return made


def test_neighbours_are_shown_with_their_cosines(run: Run, words: KeyedVectors) -> None:
    out = run("wordvec", "query", "words.bin", "king", "-k", 2)
    assert out.exit_code == 0, out.stderr
    expected = words.most_similar("king", topn=2)
    assert out.stdout.splitlines() == [f"{score:.4f}  {key}" for key, score in expected]
    out = run("wordvec", "query", "words.bin", "king", "woman", "--minus", "man", "--top", 1, "--json")
    found = json.loads(out.stdout)
    key, score = words.most_similar(["king", "woman"], "man", topn=1)[0]
    assert found == {
        "words": ["king", "woman"],
        "minus": ["man"],
        "nearest": [{"word": key, "similarity": pytest.approx(score, abs=1e-6)}],
    }
    assert run("wordvec", "query", "words.bin", "man", "--restrict", 2).stdout.split()[1:] == ["woman"]


def test_each_line_of_stdin_is_a_query(run: Run, words: KeyedVectors) -> None:
    out = run("wordvec", "query", "words.bin", "-", "-k", 1, input="man\n\nking boy\n")
    heads = [line for line in out.stdout.splitlines() if line.startswith("#")]
    assert heads == ["# man", "# king boy"]
    assert len(out.stdout.splitlines()) == 4
    lines = run("wordvec", "query", "words.bin", "-", "--json", input="man\nking\n").stdout.splitlines()
    assert [json.loads(line)["words"] for line in lines] == [["man"], ["king"]]


def test_analogies_are_answered(run: Run, words: KeyedVectors) -> None:
    assert run("wordvec", "analogy", "words.bin", "man", "woman", "king", "-k", 1).stdout.split()[1] == "queen"
    out = run("wordvec", "analogy", "words.bin", "man", "king", "woman", "--multiply", "--json", "-k", 1)
    assert json.loads(out.stdout)["nearest"][0]["word"] == "queen"


def test_words_are_compared_with_one_another(run: Run, words: KeyedVectors) -> None:
    out = run("wordvec", "similarity", "words.bin", "man", "woman", "king")
    table = [line.split() for line in out.stdout.splitlines()]
    assert [row[1] for row in table[1:]] == ["man", "woman", "king"]
    assert table[1][3] == f"{words.similarity('man', 'woman'):.3f}"
    found = json.loads(run("wordvec", "similarity", "words.bin", "--file", "-", "--json", input="man\nboy\n").stdout)
    assert found["texts"] == ["man", "boy"]
    assert found["similarity"][0][1] == pytest.approx(float(words.similarity("man", "boy")), abs=1e-5)


def test_vectors_are_scored(run: Run, words: KeyedVectors) -> None:
    out = run("wordvec", "eval", "words.bin", "--analogies", "questions", "--pairs", "pairs", "--delimiter", ",")
    assert out.exit_code == 0, out.stderr
    lines = [" ".join(line.split()) for line in out.stdout.splitlines()]
    assert lines[:3] == ["analogies right of", "royal 1 2 50.0 %", "all 1 2 50.0 %"]
    assert lines[3] == "1 with unknown words; 1 lines are not four words"
    assert lines[4] == "3 pairs correlation p-value"
    assert lines[7] == "1 with unknown words; 1 lines are not a judged pair"
    found = json.loads(
        run("wordvec", "eval", "words.bin", "--analogies", "questions", "--count-unknown", "--json").stdout
    )
    assert found["analogies"]["of"] == 3
    assert found["analogies"]["sections"] == [{"section": "royal", "right": 1, "of": 3}]
    assert run("wordvec", "eval", "words.bin").exit_code == 2


def test_files_are_converted_by_their_names(run: Run, words: KeyedVectors) -> None:
    for target, start in (
        ("a.vec", b"7 3\nman 1.0 0.0 1.0\n"),
        ("a.bin", b"7 3\nman \0\0\x80?"),
        ("a.safetensors", None),
    ):
        out = run("wordvec", "convert", "words.bin", target)
        assert out.stderr == f"tokkit: {target}: 7 vectors of 3 numbers\n"
        assert start is None or Path(target).read_bytes().startswith(start)
        assert KeyedVectors.load(target).index_to_key == NAMES
    assert run("wordvec", "convert", "words.bin", "a.txt.gz", "--to", "glove", "--limit", 1).exit_code == 0
    assert gzip.decompress(Path("a.txt.gz").read_bytes()) == b"man 1.0 0.0 1.0\n"
    assert "exists" in run("wordvec", "convert", "words.bin", "a.vec").stderr
    assert run("wordvec", "convert", "words.bin", "a.vec", "--force", "--limit", 2).exit_code == 0
    assert len(KeyedVectors.load("a.vec")) == 2
    Path("twice.txt").write_text("a 1\na 2\n")
    assert "convert --duplicates first" in run("wordvec", "convert", "twice.txt", "once.txt").stderr
    assert run("wordvec", "convert", "twice.txt", "once.txt", "--duplicates", "first").exit_code == 0
    assert KeyedVectors.load("once.txt")["a"] == [1]
    assert "has no known suffix" in run("wordvec", "convert", "words.bin", "a.model").stderr
    assert "has no known suffix" in run("wordvec", "convert", "words.bin", "a.safetensors.gz").stderr


def test_errors_say_what_is_missing(run: Run, words: KeyedVectors) -> None:
    def error(*args: object) -> str:
        out = run("wordvec", *args)
        assert out.exit_code in (1, 2)
        return out.stderr

    assert "words.bin has no vector of 'stone'; there is 'Stone'" in error("query", "words.bin", "stone")
    assert "no vector of 'cow' among its 7 words" in error("query", "words.bin", "man", "--minus", "cow")
    assert "no vector of 'king' among its 2 words" in error(
        "analogy", "words.bin", "man", "king", "woman", "--limit", 2
    )
    assert "at least two" in error("similarity", "words.bin", "man")
    assert "no/where" in error("query", "no/where", "man")
    Path("gensim.kv").write_bytes(b"\x80\x04\x95")
    assert 'save_word2vec_format("vectors.bin", binary=True)' in error("query", "gensim.kv", "man")
    assert "--analogies FILE" in error("eval", "words.bin")
