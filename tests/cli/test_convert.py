"""`tokkit convert`: the files it writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import tokkit


def test_a_file_is_converted_and_what_was_compared_is_said(run, tokenizer) -> None:
    Path("a.txt").write_text("low lower\n\nlowest naïve\n")
    out = run("convert", tokenizer, "new.tiktoken", "--verify", "a.txt")
    assert out.exit_code == 0
    assert out.stdout.splitlines()[0] == "new.tiktoken  new.tiktoken.json"
    assert "2 documents, " in out.stdout
    assert out.stdout.endswith("tokens: equal ids\n")
    assert tokkit.load("new.tiktoken").fingerprint() == tokkit.load(tokenizer).fingerprint()
    found = json.loads(run("convert", "new.tiktoken", "folder/vocab.json", "--json", "--special", "all").stdout)
    assert found["equal"] is True
    assert found["files"] == [f"folder/{name}" for name in ("vocab.json", "merges.txt", "added_tokens.json")]
    assert found["differences"] == []


def test_options_for_what_the_source_lacks(run, tokenizer) -> None:
    run("convert", tokenizer, "ranks.tiktoken")
    Path("ranks.tiktoken.json").unlink()
    out = run("convert", "ranks.tiktoken", "x.json")
    assert out.exit_code == 1
    assert "give pattern=" in out.stderr
    out = run("convert", "ranks.tiktoken", "x.json", "--pattern", "gpt2", "--special-token", "<|end|>=0")
    assert out.exit_code == 0
    assert tokkit.load("x.json").fingerprint() == tokkit.load(tokenizer).fingerprint()
    assert run("convert", "x.json", "y.json", "--special-token", "end").exit_code == 2
    assert run("convert", "x.json", "-").exit_code == 2
    out = run("convert", "x.json", "z.json", "--verify", "absent.txt")
    assert out.stderr.endswith("absent.txt does not exist\n")  # without what to write in Python
    assert run("train", "absent.txt", "-o", "z.json").stderr.endswith("absent.txt does not exist\n")


def test_what_cannot_be_said_is_refused_before_anything_is_written(run, tokenizer) -> None:
    out = run("convert", tokenizer, "x.model")
    assert out.exit_code == 1
    assert "x.model: these components cannot be a .model" in out.stderr
    out = run("convert", tokenizer, "vocab.txt")
    assert out.exit_code == 1
    assert not Path("x.model").exists()
    Path("x.json").write_text("old")
    assert "--force" in run("convert", tokenizer, "x.json").stderr
    assert Path("x.json").read_text() == "old"
    assert run("convert", tokenizer, "x.json", "--force").exit_code == 0


def test_a_lossy_conversion_reports_what_differs(run) -> None:
    tok = tokkit.train(
        iter(["low lower<new> lowest"]), model="sp-bpe", hard_vocab_limit=False, user_defined_symbols=["<new>"]
    )
    tok.save("u.model")
    assert run("convert", "u.model", "u.json").exit_code == 1
    out = run("convert", "u.model", "u.json", "--lossy")
    assert out.exit_code == 0
    assert "user-defined pieces" in out.stderr
    Path("plain.txt").write_text("low\n")
    Path("new.txt").write_text("low\n\n<new>\n")
    assert run("convert", "u.model", "u.json", "--lossy", "--force", "--verify", "plain.txt").exit_code == 0
    for output in ((), ("--json",)):
        out = run("convert", "u.model", "u.json", "--lossy", "--force", "--verify", "new.txt", *output)
        assert out.exit_code == 1
        assert "document 2: '<new>" in out.stdout
