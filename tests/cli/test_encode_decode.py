"""`tokkit encode` and `tokkit decode` restore the same text in each of their formats."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import tokkit

TEXTS = {
    "plain": "low lower\nlowest\n",
    "no last line feed": "low\nlower",
    "empty lines": "\n\nlow\n\n\n",
    "carriage returns": "low\r\nlower\r\n\rnew\x0b\x85\u2028x\r",
    "a byte-order mark inside": "low\n\ufefflower\n",
    "nothing": "",
    "scripts": "naïve café\n東京 🙂\n\x00\x01\n",
    "ids as text": "12 13\n[1, 2]\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("unit", ["line", "file"])
@pytest.mark.parametrize("output", ["ids", "json", "npy", "bin"])
def test_decode_gives_back_every_byte_that_encode_was_given(run, tokenizer, output, unit, text) -> None:
    Path("in.txt").write_bytes(text.encode())
    assert run("encode", tokenizer, "in.txt", "--output", output, "--unit", unit, "-o", f"out.{output}").exit_code == 0
    assert run("decode", tokenizer, f"out.{output}", "--unit", unit).stdout_bytes == text.encode()


def test_lines_of_ids_are_what_the_library_encodes_each_line_to(run, tokenizer) -> None:
    tok = tokkit.load(tokenizer)
    out = run("encode", tokenizer, "--unit", "line", input="low lower\nnewest café\n").stdout
    assert out == "".join(" ".join(map(str, tok.encode(line))) + "\n" for line in ("low lower", "newest café"))


@pytest.mark.parametrize("name", ["tokens", "pieces"])
def test_tokens_are_shown_on_one_line_without_surprises(run, tokenizer, name: str) -> None:
    assert run("encode", tokenizer, "--output", name, input="low lower\t\\ \x00é\n").stdout == (
        "low ␣lower \\t \\\\ ␣ \\x00 é \\n\n"
    )


def test_several_files_give_lines_of_their_own(run, tokenizer) -> None:
    Path("a.txt").write_text("low")
    Path("b.txt").write_text("lower\n")
    assert run("encode", tokenizer, "*.txt").stdout.count("\n") == 2


def test_stdin_is_read_for_a_dash_and_for_no_file(run, tokenizer) -> None:
    assert run("encode", tokenizer, "-", input="low\n").stdout == run("encode", tokenizer, input="low\n").stdout != ""


def test_compressed_files_and_records_are_read(run, tokenizer) -> None:
    Path("a.txt.gz").write_bytes(gzip.compress(b"low\n"))
    Path("a.jsonl").write_text('{"body": "low\\nlower"}\n{"body": ""}\n')
    plain = run("encode", tokenizer, input="low\n").stdout
    assert run("encode", tokenizer, "a.txt.gz").stdout == plain
    records = run("encode", tokenizer, "a.jsonl", "--field", "body", "--output", "json").stdout.splitlines()
    assert [json.loads(line) for line in records] == [tokkit.load(tokenizer).encode("low\nlower"), []]
    wrong = run("encode", tokenizer, "a.jsonl")
    assert wrong.exit_code == 1
    assert "line 1" in wrong.stderr
    assert "'text'" in wrong.stderr


def test_a_bin_has_a_sidecar_that_says_all_a_reader_needs(run, tokenizer) -> None:
    tok = tokkit.load(tokenizer)
    assert run("encode", tokenizer, "--output", "bin", "-o", "x.bin", input="low lower\nnew\n").exit_code == 0
    about = json.loads(Path("x.bin.json").read_text())
    ids = np.fromfile("x.bin", dtype="<u2")
    assert ids.tolist() == tok.encode("low lower\nnew\n")
    assert about["tokenizer"] == tok.fingerprint()
    assert (about["dtype"], about["count"], about["documents"]) == ("uint16", len(ids), 1)
    assert about["special_tokens"] == {"<|end|>": 0}


def test_the_width_of_ids_is_the_one_asked_for(run, tokenizer) -> None:
    for dtype, size in (("uint16", 2), ("uint32", 4)):
        out = run("encode", tokenizer, "--output", "bin", "--dtype", dtype, "-o", "x.bin", "--force", input="low")
        assert out.exit_code == 0
        assert Path("x.bin").stat().st_size == size * len(tokkit.load(tokenizer).encode("low"))
    assert run("decode", tokenizer, "x.bin").stdout == "low"


def test_uint16_is_refused_where_ids_do_not_fit(run, tokenizer) -> None:
    tokkit.load(tokenizer).with_special_tokens({"<far>": 70000}).save("far.json")
    out = run("encode", "far.json", "--output", "bin", "--dtype", "uint16", "-o", "x.bin", input="low")
    assert out.exit_code == 1
    assert "70000" in out.stderr
    assert not Path("x.bin").exists()
    assert run("encode", "far.json", "--output", "bin", "-o", "x.bin", input="low").exit_code == 0
    assert json.loads(Path("x.bin.json").read_text())["dtype"] == "uint32"


def test_a_bin_on_stdout_needs_its_width_said(run, tokenizer) -> None:
    assert run("encode", tokenizer, "--output", "bin", input="low").exit_code == 2
    out = run("encode", tokenizer, "--output", "bin", "--dtype", "uint16", input="low")
    assert run("decode", tokenizer, "--input", "bin", "--dtype", "uint16", input=out.stdout_bytes).stdout == "low"


def test_a_bin_of_another_tokenizer_is_refused(run, tokenizer) -> None:
    tokkit.train(iter(["other text"]), vocab_size=258).save("other.json")
    run("encode", "other.json", "--output", "bin", "-o", "x.bin", input="low")
    out = run("decode", tokenizer, "x.bin")
    assert out.exit_code == 1
    assert "another tokenizer" in out.stderr
    assert run("decode", tokenizer, "x.bin", "--any-tokenizer").exit_code == 0


def test_a_bin_cut_short_is_refused(run, tokenizer) -> None:
    run("encode", tokenizer, "--output", "bin", "-o", "x.bin", input="low lower")
    Path("x.bin").write_bytes(Path("x.bin").read_bytes()[:-2])
    assert "truncated" in run("decode", tokenizer, "x.bin").stderr
    Path("x.bin").write_bytes(b"123")
    assert "whole number" in run("decode", tokenizer, "x.bin").stderr
    Path("x.bin.json").unlink()
    assert "sidecar" in run("decode", tokenizer, "x.bin").stderr


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ("1 2\n3 x\n", "line 2: 'x'"),
        ("1\n\n-5\n", "line 3: '-5'"),
        ("1\n99999\n", "99999"),
        ("1" * 30, "line 1"),
        ("18446744073709551616", "line 1"),
        ("1.0", "line 1"),
        ("٣", "line 1"),
    ],
)
def test_a_wrong_id_is_named_with_its_line(run, tokenizer, ids, said) -> None:
    out = run("decode", tokenizer, input=ids)
    assert out.exit_code == 1
    assert said in out.stderr
    assert out.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "line", ["{}", "[true]", "[1.5]", "[-1]", '["1"]', "[[1]]", "nonsense", "[" * 100_000, "[99999]"]
)
def test_a_wrong_json_line_is_an_error(run, tokenizer, line) -> None:
    out = run("decode", tokenizer, "--input", "json", input="[1]\n" + line + "\n")
    assert out.exit_code == 1
    assert "line 2" in out.stderr


def test_an_npy_that_holds_no_ids_is_an_error(run, tokenizer) -> None:
    for value in (np.array([1.5]), np.array([[1, 2]]), np.array([-1]), np.array([99999]), np.array([object()])):
        np.save("x.npy", value, allow_pickle=True)
        out = run("decode", tokenizer, "x.npy")
        assert out.exit_code == 1
        assert "pickle" not in out.stderr.lower() or value.dtype == object
    Path("x.npy").write_bytes(b"no array")
    assert "not a .npy" in run("decode", tokenizer, "x.npy").stderr


def test_special_tokens_are_read_as_asked(run, tokenizer) -> None:
    text = "low<|end|>"
    assert run("encode", tokenizer, "--special", "all", input=text).stdout.split()[-1] == "0"
    assert "0" not in run("encode", tokenizer, input=text).stdout.split()
    out = run("encode", tokenizer, "--special", "raise", input=text)
    assert out.exit_code == 1
    assert "<|end|>" in out.stderr


@pytest.mark.parametrize("unit", ["line", "file"])
def test_bytes_that_are_no_text_are_named_by_their_offset(run, tokenizer, unit) -> None:
    Path("in.txt").write_bytes(b"low\nl\xffow\n")
    out = run("encode", tokenizer, "in.txt", "--unit", unit, "-o", "out.ids")
    assert out.exit_code == 1
    assert "in.txt: byte 5 (0xff)" in out.stderr
    assert "--input-errors" in out.stderr
    assert not Path("out.ids").exists()
    assert (
        run("encode", tokenizer, "in.txt", "--input-errors", "ignore").stdout
        == run("encode", tokenizer, input="low\nlow\n").stdout
    )
    replaced = run("encode", tokenizer, "in.txt", "--input-errors", "replace").stdout
    assert run("decode", tokenizer, input=replaced).stdout == "low\nl\ufffdow\n"


def test_a_file_is_not_overwritten_unless_forced(run, tokenizer) -> None:
    Path("out").write_text("old")
    out = run("encode", tokenizer, "-o", "out", input="low")
    assert out.exit_code == 1
    assert "--force" in out.stderr
    assert Path("out").read_text() == "old"
    assert run("encode", tokenizer, "-o", "out", "--force", input="low").exit_code == 0
    assert Path("out").read_text() != "old"
    assert sorted(path.name for path in Path().iterdir()) == ["out"]


@pytest.mark.parametrize("name", ["x.npy", "X.NPY", "x.bin", "x.json", "x.jsonl", "x.ids", "x"])
def test_an_output_holds_what_its_name_says(run, tokenizer, name) -> None:
    tok, text = tokkit.load(tokenizer), "low lower\nnew\n"
    Path("in.txt").write_text(text)
    assert run("encode", tokenizer, "in.txt", "-o", name).exit_code == 0
    assert run("decode", tokenizer, name).stdout == text
    if name.lower().endswith("npy"):
        assert np.load(name).tolist() == tok.encode(text)
        tok.encode_file("in.txt", "same.npy")
        assert Path(name).read_bytes() == Path("same.npy").read_bytes()
    elif "json" in name:
        assert json.loads(Path(name).read_text()) == tok.encode(text)
    assert Path(name + ".json").exists() == (name == "x.bin")


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("x.npy", ("--output", "ids"), "the suffix is for npy, but --output is ids"),
        ("x.NPY", ("--output", "json"), "give --output npy"),
        ("x.npy", ("--output", "bin"), "give --output npy"),
        ("x.npy", ("--explain",), "--explain writes lines"),
        ("x.npy", ("--dropout", 0.1), "--output npy cannot hold"),
        ("x.npy", ("--add-special",), "not npy"),
        ("x.bin", ("--output", "npy"), "give --output bin"),
        ("x.bin", ("--output", "tokens"), "give --output bin"),
        ("x.json", ("--output", "ids"), "give --output json"),
        ("x.jsonl", ("--output", "npy"), "give --output json"),
        ("x.json", ("--output", "json", "--explain"), "--explain writes lines"),
    ],
)
def test_a_format_that_contradicts_the_name_is_refused(run, tokenizer, name, args, said) -> None:
    out = run("encode", tokenizer, "-o", name, *args, input="low")
    assert (out.exit_code, said in out.stderr) == (2, True), out.stderr
    assert not list(Path().iterdir())
    assert run("encode", tokenizer, "-o", "x.json", "--output", "full", input="low").exit_code == 0


def test_threads_do_not_change_what_is_written(run, tokenizer) -> None:
    text = "low lower lowest\n" * 1000
    assert len({run("encode", tokenizer, "--threads", n, input=text).stdout for n in (1, 2, 5)}) == 1


def test_a_rank_file_that_says_no_pattern_takes_one(run, tokenizer) -> None:
    tokkit.train(iter(["low lower lowest"]), vocab_size=270, pattern="cl100k").save("x.tiktoken")
    assert run("encode", "x.tiktoken", input="low").exit_code == 0
    Path("x.tiktoken.json").unlink()
    assert run("encode", "x.tiktoken", input="low").exit_code == 1
    assert run("encode", "x.tiktoken", "--pattern", "cl100k", input="low").exit_code == 0
