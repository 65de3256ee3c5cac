"""Every command that counts a text counts it by one rule: each file, or record, is one text, with its line ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import tokkit
from tokkit.corpus.text_counts import RULE, count_file

CODE = "\ndef f(x):\n\n    if x:\n\t    return [\n            x,\n        ]\n\n    return None  # naïve 東京\n" * 40
OPTIONS = {
    "bbpe": ("--vocab-size", 400),
    "unigram": ("--vocab-size", 80, "--no-hard-vocab-limit"),
    "wordpiece": ("--vocab-size", 120),
    "word": ("--vocab-size", 100, "--pattern", "gpt2"),
}


@pytest.mark.parametrize("model", OPTIONS)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_one_file_and_tokenizer_have_one_number_of_tokens(run, model, mark) -> None:
    Path("a.txt").write_bytes((mark + CODE).encode())
    trained = json.loads(run("train", "a.txt", "-o", "tok.json", "--model", model, *OPTIONS[model], "--json").stdout)
    expected = tokkit.load("tok.json").count(CODE)  # a byte-order mark is no text
    view = run("view", "tok.json", "a.txt").stdout.splitlines()[-1]
    found = {
        "train": trained["tokenizers"][0]["tokens"],
        "count": json.loads(run("count", "tok.json", "a.txt", "--json").stdout)["total"],
        "count -lwc": json.loads(run("count", "tok.json", "a.txt", "-lwc", "--json").stdout)["total"],
        "report": json.loads(run("report", "tok.json", "a.txt", "--json").stdout)["all"]["tokens"],
        "compare": json.loads(run("compare", "tok.json", "--json", "--", "a.txt").stdout)["total"]["tokens"][
            "tok.json"
        ]["tokens"],
        "encode": len(run("encode", "tok.json", "a.txt").stdout.split()),
        "encode -o": len(np.load("ids.npy"))
        if not run("encode", "tok.json", "a.txt", "-o", "ids.npy").exit_code
        else 0,
        "view": int(re.sub(r"\D.*", "", view.replace(",", ""))),
        "bench": json.loads(run("bench", "tok.json", "a.txt", "--against", "none", "--runs", 1, "--json").stdout)[
            "tokens"
        ],
    }
    assert found == dict.fromkeys(found, expected)
    assert RULE in view


def test_the_rule_is_said_where_numbers_are_printed(run, tokenizer) -> None:
    Path("a.txt").write_text(CODE)
    for args in (
        ("train", "a.txt", "-o", "new.json", "--vocab-size", 300),
        ("report", tokenizer, "a.txt"),
        ("compare", tokenizer, "--", "a.txt"),
        ("compare", "--train", "bbpe", "--vocab-sizes", 300, "a.txt", "--", "a.txt"),
        ("view", tokenizer, "a.txt"),
        ("bench", tokenizer, "a.txt", "--against", "none", "--runs", 1),
    ):
        assert RULE in run(*args).stdout, args[0]
    for command in ("count", "encode", "report", "compare"):
        assert "one text" in " ".join(run(command, "--help").stdout.split()), command


def test_a_large_training_text_is_measured_as_the_beginning_of_one_text(run) -> None:
    Path("large.txt").write_text(CODE * 300)
    made = json.loads(run("train", "large.txt", "-o", "tok.json", "--vocab-size", 300, "--json").stdout)
    beginning = (CODE * 300).encode()[: made["measured_bytes"]]
    assert 999_900 < len(beginning) <= 1_000_000
    assert beginning.endswith(b"\n")
    assert made["tokenizers"][0]["tokens"] == tokkit.load("tok.json").count(beginning)


def test_records_are_texts_of_their_own(run, tokenizer) -> None:
    texts = ["low\nlower", "", " new", "low\nlower"]
    Path("a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    tok = tokkit.load(tokenizer)
    expected = sum(map(tok.count, texts))
    assert json.loads(run("count", tokenizer, "a.jsonl", "--json").stdout)["total"] == expected
    assert json.loads(run("report", tokenizer, "a.jsonl", "--json").stdout)["all"]["tokens"] == expected
    assert len(run("encode", tokenizer, "a.jsonl").stdout.split()) == expected
    bench = ("bench", tokenizer, "a.jsonl", "--against", "none", "--runs", 1, "--json")
    assert json.loads(run(*bench).stdout)["tokens"] == expected


@pytest.mark.parametrize("errors", ["replace", "ignore"])
def test_counts_of_blocks_are_those_of_the_whole(tokenizer, tmp_path, monkeypatch, errors) -> None:
    import tokkit.corpus.encode_file as blocks

    tok, path = tokkit.load(tokenizer), tmp_path / "a.txt"
    data = (CODE + "low\u3000lower \x1c new\r\n\n").encode() + b"bro\xffken \xe6\x9d" + CODE.encode()
    path.write_bytes(data)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 50)
    monkeypatch.setattr("tokkit.corpus.text_counts._SLICE_BYTES", 7)
    found, text = count_file(tok, str(path), input_errors=errors, threads=2), data.decode(errors=errors)
    assert (found.texts, found.tokens, int(found.used.sum())) == (1, tok.count(text), tok.count(text))
    assert (found.bytes, found.characters) == (len(text.encode()), len(text))
    assert (found.words, found.lines) == (len(text.split()), text.count("\n"))


def test_encode_reads_a_file_in_blocks_and_decode_gives_it_back(run, tokenizer, monkeypatch) -> None:
    import tokkit.corpus.encode_file as blocks

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    tok = tokkit.load(tokenizer)
    Path("a.txt").write_text(CODE)
    Path("b.txt").write_text("")
    assert run("encode", tokenizer, "a.txt", "b.txt").stdout == " ".join(map(str, tok.encode(CODE))) + "\n\n"
    assert json.loads(run("encode", tokenizer, "a.txt", "-o", "-", "--output", "json").stdout) == tok.encode(CODE)
    assert run("encode", tokenizer, "b.txt", "--output", "json").stdout == "[]\n"
    ids = run("encode", tokenizer, "a.txt").stdout
    assert run("decode", tokenizer, input=ids).stdout == CODE
