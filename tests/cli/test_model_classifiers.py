"""What `tokkit model rerank`, `classify`, `entities` and `search --rerank` print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import generators
import model_folders
from tokkit import pipeline

if TYPE_CHECKING:
    from conftest import Run

LINES = ["the cat sat", "", "money of a bank", "river"]


@pytest.fixture
def models(run: Run) -> None:
    """The folders of a cross-encoder, a classifier, a tagger and an encoder, and files to read."""
    model_folders.classifier(Path("ranker"), ["score"])
    model_folders.classifier(Path("labels"), ["no", "yes"])
    model_folders.classifier(Path("tagger"), ["O", "B-X", "I-X"], tokens=True, seed=3)
    model_folders.write(Path("encoder"))
    generators.folder(Path("generator"))
    Path("notes.txt").write_text("\n".join(LINES) + "\n")
    Path("mail.jsonl").write_text('{"text": "a mat"}\n{"text": "the bank,\\nthe river"}\n')


@pytest.mark.usefixtures("models")
def test_lines_and_records_come_in_the_order_of_their_scores(run: Run) -> None:
    model, texts = pipeline.load("ranker"), [*filter(None, LINES), "a mat", "the bank,\nthe river"]
    expected = model.rank("the cat", texts)
    out = run("model", "rerank", "ranker", "the cat", "notes.txt", "mail.jsonl", "--full").stdout.splitlines()
    places = ["notes.txt:1", "notes.txt:3", "notes.txt:4", "mail.jsonl, record 1", "mail.jsonl, record 2"]
    assert out[::2] == [f"{one['score']:.4f}  {places[one['corpus_id']]}" for one in expected]
    assert out[1::2] == [" " * 8 + texts[one["corpus_id"]].replace("\n", " ") for one in expected]
    found = json.loads(run("model", "rerank", "ranker", "cat", "-k", 1, "--json", input="\n\nthe river\n").stdout)
    assert found["query"] == "cat"
    (hit,) = found["hits"]
    assert (hit["path"], hit["line"], hit["span"], hit["text"]) == ("-", 3, [2, 11], "the river")
    assert hit["score"] == pytest.approx(float(model.predict(("cat", "the river"))), abs=1e-6)


@pytest.mark.usefixtures("models")
def test_labels_are_a_table_or_a_line_of_json_for_each_text(run: Run) -> None:
    model = pipeline.load("labels")
    (first, second), (other,) = model.classify("the cat", top_k=2), model.classify("river")
    rows = run("model", "classify", "labels", "the cat", "-k", 2).stdout.splitlines()
    assert [row.split() for row in rows] == [
        ["label", "score", "text"],
        [first["label"], f"{first['score']:.4f}", "the", "cat"],
        [second["label"], f"{second['score']:.4f}"],
    ]
    out = run("model", "classify", "labels", "the cat", "--file", "-", "--json", input="river\n\n")
    made = [json.loads(line) for line in out.stdout.splitlines()]
    assert made == [{"text": "the cat", "labels": [first]}, {"text": "river", "labels": [other]}]
    (pair,) = model.classify(["the cat"], ["sat"])
    assert pair != [first]
    out = run("model", "classify", "labels", "the cat", "--pair", "sat", "--json").stdout
    assert json.loads(out)["labels"] == pair


@pytest.mark.usefixtures("models")
def test_entities_have_spans_in_characters_of_each_text(run: Run) -> None:
    text = Path("notes.txt").read_text()
    expected = pipeline.load("tagger").entities(text, ignore_labels=())
    (made,) = map(
        json.loads, run("model", "entities", "tagger", "notes.txt", "--json", "--ignore", "").stdout.split("\n")[:-1]
    )
    assert made["entities"] == expected
    rows = run("model", "entities", "tagger", "notes.txt", "--aggregation", "none", "--ignore", "none").stdout
    tokens = pipeline.load("tagger").predict(text)
    assert [row.split()[2:] for row in rows.splitlines()[1:]] == [
        [str(one["start"]), str(one["end"]), text[one["start"] : one["end"]]] for one in tokens
    ]
    Path("many.jsonl").write_text('{"text": "the cat"}\n' * 65 + '{"text": "a mat"}\n')
    many = run("model", "entities", "tagger", "many.jsonl", "--json").stdout.splitlines()
    assert [json.loads(line)["record"] for line in many] == list(range(1, 67))
    heads = run("model", "entities", "tagger", "mail.jsonl").stdout.splitlines()
    assert [row for row in heads if row.startswith("#")] == ["# mail.jsonl, record 1", "# mail.jsonl, record 2"]


@pytest.mark.usefixtures("models")
def test_search_shows_the_best_candidates_of_the_second_stage(run: Run) -> None:
    assert run("model", "embed", "notes.txt", "-o", "index", "--model", "encoder", "--tokens", 8).exit_code == 0
    Path("more.txt").write_text("the cats sat on the cat\n")
    assert run("model", "embed", "more.txt", "-o", "index", "--append").exit_code == 0
    plain = json.loads(run("model", "search", "index", "the cat", "--json").stdout)["hits"]
    texts = [hit["text"] for hit in plain]
    expected = pipeline.load("ranker").rank("the cat", texts)
    found = json.loads(run("model", "search", "index", "the cat", "--rerank", "ranker", "--json").stdout)["hits"]
    assert [hit["text"] for hit in found] == [texts[one["corpus_id"]] for one in expected]
    assert [hit["score"] for hit in found] == pytest.approx([one["score"] for one in expected], abs=1e-6)
    one = run("model", "search", "index", "the cat", "-k", 1, "--rerank", "ranker", "--candidates", 1, "--json").stdout
    assert json.loads(one)["hits"][0]["text"] == texts[0], "the only candidate"


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("rerank", "encoder", "cat", "notes.txt"), 1, "encoder holds an encoder; this command needs a cross-encoder"),
        (("rerank", "labels", "cat", "notes.txt"), 1, "labels has the labels no, yes; to rank, a model must have"),
        (
            ("rerank", "generator", "cat", "notes.txt"),
            1,
            "yes is 'yes', which is 3 tokens of this model; it must be one",
        ),
        (("rerank", "ranker", "cat", "notes.txt", "--instruction", "x"), 1, "which takes no instruction; leave it out"),
        (("rerank", "ranker", " ", "notes.txt"), 1, "the query is empty"),
        (("rerank", "ranker", "cat", "absent.txt"), 1, "absent.txt does not exist"),
        (
            ("rerank", "ranker", "cat", "encoder/model.safetensors"),
            1,
            "model.safetensors: binary: it contains the byte 0",
        ),
        (("rerank", "ranker", "cat", "-"), 1, "tokkit: stdin: no documents; each non-blank line is a document\n"),
        (("classify", "labels"), 2, "no text given; give TEXT, or a file with --file"),
        (
            ("classify", "tagger", "cat"),
            1,
            "tagger holds a token classifier; this command needs a",
        ),
        (("entities", "ranker", "notes.txt"), 1, "this command needs a token classifier"),
        (("entities", "tagger", "-"), 1, "tokkit: stdin: no text\n"),
        (("entities", "tagger", "notes.txt", "--stride", 18), 1, "stride is 18; it must be 0 to 17"),
        (("similarity", "a", "b", "--model", "ranker"), 1, "ranker holds a cross-encoder or text classifier; this"),
        (("search", "index", "cat", "--candidates", 9), 2, "--candidates applies only with --rerank"),
        (
            ("search", "index", "cat", "--candidates", 2, "--rerank", "ranker"),
            1,
            "candidates is 2; it must be at least 5 to return 5 passages",
        ),
    ],
)
def test_what_is_wrong_is_said(run: Run, args: tuple[object, ...], code: int, said: str) -> None:
    if args[0] == "search":
        assert run("model", "embed", "notes.txt", "-o", "index", "--model", "encoder").exit_code == 0
    out = run("model", *args, input="\n \n")
    assert (out.exit_code, out.stdout) == (code, "")
    assert said in out.stderr
