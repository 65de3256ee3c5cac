"""A byte-order mark at the start of an input is dropped, and a note says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import tokkit

BOM = b"\xef\xbb\xbf"


def note(name: str) -> str:
    return f"tokkit: {name} begins with a byte-order mark, which is dropped\n"


def test_training_says_so_once(run) -> None:
    Path("a.txt").write_bytes(BOM + b"low low\n")
    made = run("train", "a.txt", "-o", "t.json", "--vocab-size", "258")
    assert made.exit_code == 0
    assert made.stderr.count(note("a.txt")) == 1


@pytest.mark.parametrize("output", ["ids", "npy"])
def test_a_file_and_standard_input_are_encoded_without_it(run, tokenizer, output: str) -> None:
    Path("a.txt").write_bytes(BOM + b"low low\n")
    plain = run("encode", tokenizer, "--output", output, input=b"low low\n")
    for arguments, given, name in ((["a.txt"], b"", "a.txt"), ([], BOM + b"low low\n", "standard input")):
        marked = run("encode", tokenizer, *arguments, "--output", output, input=given)
        assert (marked.stdout_bytes, marked.exit_code) == (plain.stdout_bytes, 0)
        assert note(name) in marked.stderr


def test_the_first_word_of_a_list_of_counts_is_a_word(run) -> None:
    Path("words.tsv").write_bytes(BOM + b"low\t5\nlower\t2\n")
    made = run("train", "--counts", "words.tsv", "-o", "w.json", "--model", "word", "--vocab-size", "9")
    assert made.exit_code == 0
    assert note("words.tsv") in made.stderr
    assert list(tokkit.load("w.json").vocab) == [b"[UNK]", b"low", b"lower"]


def test_labelled_lines_and_lines_to_classify_begin_after_it(run) -> None:
    Path("lines.txt").write_bytes(BOM + b"__label__en the cat\n" + b"__label__de die Katze\n__label__en the cat\n" * 50)
    train = ("wordvec", "classify", "--train", "lines.txt", "--size", 8, "--threads", 1, "--alpha", 0.5)
    made = run(*train, "-o", "m.bin", "--test", "lines.txt")
    assert made.stdout == "101 lines, 1 labels each: precision 1.0000, recall 1.0000\n", made.stderr
    assert note("lines.txt") in made.stderr
    Path("texts").write_bytes(BOM + b"the\n")
    for arguments, given in ((["texts"], b""), ([], BOM + b"the\n")):
        out = run("wordvec", "classify", "--model", "m.bin", *arguments, input=given)
        assert out.stdout.startswith("__label__en 0.9")
        assert "byte-order mark" in out.stderr


def test_lone_surrogates_say_which_option_goes_on(run) -> None:
    Path("a.jsonl").write_text('{"text": "lo\\ud800w"}\n')
    said = run("train", "a.jsonl", "-o", "t.json")
    assert said.exit_code == 1
    assert "a lone surrogate, which UTF-8 lacks; use --input-errors replace or ignore to go on" in said.stderr
    assert run("train", "a.jsonl", "-o", "t.json", "--vocab-size", "257", "--input-errors", "replace").exit_code == 0


def test_a_nested_field_is_read(run) -> None:
    Path("a.jsonl").write_text('{"doc": {"text": "low low low"}}\n')
    assert run("train", "a.jsonl", "-o", "t.json", "--vocab-size", "258", "--field", "doc.text").exit_code == 0
    assert b"low" in tokkit.load("t.json").vocab
    wrong = run("train", "a.jsonl", "-o", "x.json", "--field", "doc.body")
    assert "no text in the field 'doc.body', but the fields ['text'] in 'doc'" in wrong.stderr
