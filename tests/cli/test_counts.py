"""`tokkit counts`: shards become files that are merged, pruned, shown, and trained from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tokkit.cli.options import Bytes

TEXT = "low lower lowest\nnewer wider new\nnaïve café\n"


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for n in range(3):
        (tmp_path / "data" / f"{n}.txt").write_text(TEXT * (n + 1) + f"w{n}\n", encoding="utf-8")
    return tmp_path


def test_counts_are_built_merged_pruned_and_trained_from(shards: Path, run) -> None:
    said = run("counts", "build", "data", "-o", "counts", "--pattern", "cl100k").stdout
    assert said.startswith("3 shards counted: ")
    assert run("counts", "build", "data", "-o", "counts", "--pattern", "cl100k").stdout.startswith(
        "0 shards counted, 3 shards counted before"
    )
    options = ("--pattern", "cl100k", "--vocab-size", "280")
    assert run("train", "data", "-o", "text.json", *options).exit_code == 0
    assert run("train", "--counts", "counts", "-o", "counts.json", *options).exit_code == 0
    assert run("counts", "merge", "counts", "-o", "all.counts").exit_code == 0
    assert run("train", "--counts", "all.counts", "-o", "all.json", *options).exit_code == 0
    assert (shards / "text.json").read_bytes() == (shards / "counts.json").read_bytes()
    assert (shards / "text.json").read_bytes() == (shards / "all.json").read_bytes()
    pruned = json.loads(run("counts", "prune", "all.counts", "-o", "p.counts", "--min-count", "2", "--json").stdout)
    facts = json.loads(run("counts", "info", "p.counts", "--json").stdout)
    assert facts["words"] == pruned["words"] > 0
    assert facts["min_count"] == 2
    assert [Path(path).name for path in facts["shards"]] == ["0.txt", "1.txt", "2.txt"]
    assert "pattern 'cl100k', unit 'file'" in run("counts", "info", "p.counts").stdout


def test_counts_are_cut_at_the_special_tokens_of_the_training(shards: Path, run) -> None:
    for path in (shards / "data").iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace("er ", "er<|end|>"), encoding="utf-8")
    special = ("--special-token", "<|end|>")
    assert run("counts", "build", "data", "-o", "counts", *special).exit_code == 0
    options = ("--vocab-size", "280", *special)
    assert run("train", "data", "-o", "text.json", *options).exit_code == 0
    assert run("train", "--counts", "counts", "-o", "counts.json", *options).exit_code == 0
    assert (shards / "text.json").read_bytes() == (shards / "counts.json").read_bytes()
    tokens = json.loads((shards / "text.json").read_text(encoding="utf-8"))["model"]["vocab"]
    assert not [token for token in tokens if "nd" in token and token != "<|end|>"]
    assert "special_tokens" in run("train", "--counts", "counts", "-o", "x.json", "--vocab-size", "280").stderr
    assert run("counts", "build", "data", "-o", "as-text", *special, "--special", "text").exit_code == 0
    assert run("train", "--counts", "as-text", "-o", "as-text.json", *options, "--special", "text").exit_code == 0
    assert (shards / "as-text.json").read_bytes() != (shards / "text.json").read_bytes()
    assert (
        "--special is for"
        in run("counts", "build", "data", "-o", "x", "--model", "unigram", "--special", "text").stderr
    )


def test_forbidden_tokens_are_not_learned(shards: Path, run) -> None:
    forbidden = ("--forbidden-token", "ow", "--forbidden-token", "er")
    assert run("train", "data", "-o", "t.json", "--vocab-size", "290", *forbidden).exit_code == 0
    tokens = json.loads((shards / "t.json").read_text(encoding="utf-8"))["model"]["vocab"]
    assert not [token for token in tokens if "ow" in token or "er" in token]
    refused = run("train", "data", "-o", "x.json", "--model", "char", *forbidden)
    assert refused.exit_code == 2
    assert "--forbidden-token is for --model bbpe or" in refused.stderr


def test_a_training_is_saved_and_resumed(shards: Path, run) -> None:
    options = ("--state", "state", "--state-every", "2", "--resume")
    assert run("train", "data", "-o", "small.json", "--vocab-size", "262", *options).exit_code == 0
    assert run("train", "data", "-o", "large.json", "--vocab-size", "275", *options).exit_code == 0
    assert run("train", "data", "-o", "whole.json", "--vocab-size", "275").exit_code == 0
    assert (shards / "large.json").read_bytes() == (shards / "whole.json").read_bytes()
    other = run("train", "data", "-o", "other.json", "--vocab-size", "275", "--pattern", "cl100k", *options)
    assert other.exit_code == 1
    assert "state was saved by a training with pattern" in other.stderr
    assert run("train", "data", "-o", "x.json", "--resume").exit_code == 1
    assert run("train", "data", "-o", "x.json", "--model", "word", "--state", "s").exit_code == 2


def test_wrong_counts_are_one_line_on_stderr(shards: Path, run) -> None:
    run("counts", "build", "data/0.txt", "-o", "one")
    run("counts", "build", "data/1.txt", "-o", "two", "--model", "wordpiece", "--max-memory", "1MB")
    mixed = run("counts", "merge", "one", "two", "-o", "all.counts")
    assert mixed.exit_code == 1
    assert "different options cannot be added" in mixed.stderr
    assert "Traceback" not in mixed.stderr
    assert run("train", "--counts", "one", "--model", "wordpiece", "-o", "t.json").exit_code == 1
    assert run("counts", "build", "data", "-o", "x", "--lowercase").exit_code == 2
    assert run("counts", "build", "data", "-o", "x", "--max-memory", "much").exit_code == 2
    assert run("counts", "merge", "one", "-o", "all.counts").exit_code == 0
    assert "--force" in run("counts", "merge", "one", "-o", "all.counts").stderr
    assert run("counts", "merge", "one", "-o", "all.counts", "--force").exit_code == 0


@pytest.mark.parametrize(("written", "size"), [("1GB", 10**9), ("1.5 KiB", 1536), ("7", 7), ("2m", 2_000_000)])
def test_sizes_are_read_with_their_units(written: str, size: int) -> None:
    assert Bytes().convert(written, None, None) == size


def test_sources_are_named_and_weighted(shards: Path, run) -> None:
    named = ("a=data/0.txt", "b=data/1.txt", "b=data/2.txt")
    weights = ("--weight", "a=2,b=1/3")
    options = ("--vocab-size", "270")
    assert run("counts", "build", *named, "-o", "counts").exit_code == 0
    made = json.loads(run("train", *named, "-o", "text.json", *options, *weights, "--json").stdout)
    assert [(row["source"], row["weight"]) for row in made["sources"]] == [("a", "2"), ("b", "1/3")]
    assert sum(row["share"] for row in made["sources"]) == pytest.approx(1)
    shown = run("train", "--counts", "counts", "-o", "counts.json", *options, *weights).stdout
    assert "source  bytes of words  weight" in shown
    assert run("counts", "merge", "counts", "-o", "all.counts", *weights).exit_code == 0
    assert "source b: 2 shards, weighted by 1/3" in run("counts", "info", "all.counts").stdout
    assert run("train", "--counts", "all.counts", "-o", "all.json", *options).exit_code == 0
    assert len({(shards / f"{name}.json").read_bytes() for name in ("text", "counts", "all")}) == 1
    # Without names each input is a source, which its path names.
    by_path = run("train", "data/0.txt", "data/1.txt", "-o", "x.json", *options, "--weight", "data/0.txt=2", "--json")
    assert [row["weight"] for row in json.loads(by_path.stdout)["sources"]] == ["2", "1"]
    (shards / "a=b.txt").write_text(TEXT)
    assert run("train", "a=b.txt", "-o", "y.json", *options).exit_code == 0
    for wrong in ("2", "a=", "a=2,a=3"):
        assert run("train", *named, "-o", "z.json", "--weight", wrong).exit_code == 2
    assert run("train", *named, "-o", "z.json", "--weight", "c=2").exit_code == 1
    assert run("train", "--temperature", "2").exit_code == 2
