"""`tokkit train --model bpe` and what `tokkit encode` shows of words: exact output, options, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tokkit

if TYPE_CHECKING:
    from conftest import Run

FIRST = """\
Merges, in order:
  pair        token      count(xy)
  l o         lo                 7
  lo w        low                7
  e r         er                 6
  er </w>     er</w>             6
  low </w>    low</w>            5
  n e         ne                 3
  ne w        new                3
  new er</w>  newer</w>          3
  w i         wi                 3
  wi d        wid                3
"""
SECOND = """\
Merges, in order:
  pair        token        count(xy)
  e s         es                   9
  es t        est                  9
  est </w>    est</w>              9
  l o         lo                   7
  lo w        low                  7
  n e         ne                   6
  ne w        new                  6
  new est</w>  newest</w>          6
  low </w>    low</w>              5
  w i         wi                   3
"""


def train(run: Run, counts: str, size: int, *more: str) -> str:
    Path("counts.tsv").write_text(counts.replace(" ", "\t").replace(",", "\n"), encoding="utf-8")
    out = run("train", "--model", "bpe", "--counts", "counts.tsv", "--vocab-size", size, "-o", "tok.json", *more)
    assert out.exit_code == 0, out.stderr
    return out.stdout


@pytest.mark.parametrize(
    ("counts", "size", "table"),
    [("low 5,lowest 2,newer 3,wider 3", 21, FIRST), ("low 5,lower 2,newest 6,widest 3", 21, SECOND)],
)
def test_explain_shows_each_merge_of_the_worked_corpora(run: Run, counts: str, size: int, table: str) -> None:
    found = train(run, counts, size, "--explain").partition("\n\n")[2]
    assert [line.split() for line in found.splitlines()] == [line.split() for line in table.splitlines()]
    if table is FIRST:
        assert found == table


def test_explain_shows_each_merge_of_bytes(run: Run) -> None:
    Path("a.txt").write_text("low low low lowest lowest\nnewer newer newer é\n", encoding="utf-8")
    args = ("train", "a.txt", "--model", "bbpe", "--vocab-size", 300, "-o", "a.json", "--force", "--explain")
    out = run(*args)
    assert out.exit_code == 0, out.stderr
    lines = [line.split() for line in out.stdout.partition("Merges, in order:\n")[2].splitlines()]
    assert lines[:3] == [["pair", "token", "count(xy)"], ["l", "o", "lo", "5"], ["w", "e", "we", "5"]]
    assert ["\\xc3", "\\xa9", "é", "1"] in lines
    tok = tokkit.load("a.json")
    told = json.loads(run(*args, "--json").stdout)["explained"]
    assert len(told) == len(lines) - 1 == len(tok.definition.model.merges)


def test_encode_explain_shows_the_merges_of_each_word(run: Run) -> None:
    train(run, "low 5,lowest 2,newer 3,wider 3", 21)
    out = run("encode", "tok.json", "--explain", input="newer low\n")
    assert out.stdout == (
        "newer</w>\n"
        "  merge  symbols\n"
        "         n e w e r </w>\n"
        "      3  n e w er </w>\n"
        "      4  n e w er</w>\n"
        "      6  ne w er</w>\n"
        "      7  new er</w>\n"
        "      8  newer</w>\n"
        "low</w>\n"
        "  merge  symbols\n"
        "         l o w </w>\n"
        "      1  lo w </w>\n"
        "      2  low </w>\n"
        "      5  low</w>\n"
    )


def test_explain_works_over_bytes_and_not_over_words(run: Run, tokenizer: str) -> None:
    out = run("encode", tokenizer, "--explain", input="low lower")
    assert out.stdout.splitlines()[:3] == ["low", "  merge  symbols", "         l o w"]
    tokkit.train(iter(["low"]), model="word", vocab_size=5).save("word.json")
    out = run("encode", "word.json", "--explain", input="low")
    assert out.exit_code == 1
    assert "the model is WordLevel" in out.stderr


def test_subwords_are_written_with_a_separator(run: Run) -> None:
    train(run, "low 5,lowest 2,newer 3,wider 3", 21, "--word-end", "attached")
    assert run("encode", "tok.json", "--output", "subwords", input="lowest x\nnew\n").stdout == (
        "low@@ e@@ s@@ t x\nne@@ w\n"
    )
    out = run("encode", "tok.json", "--output", "subwords", "--separator", "|", input="lowest")
    assert out.stdout == "low| e| s| t"


def test_dropout_gives_other_ids_for_other_seeds(run: Run, tokenizer: str) -> None:
    train(run, "low 5,lowest 2,newer 3,wider 3", 21)
    text = "newer lower lowest wider " * 10
    for path in ("tok.json", tokenizer):
        whole = run("encode", path, input=text).stdout
        first, again, other = (
            run("encode", path, "--dropout", "0.5", "--seed", seed, input=text).stdout for seed in (1, 1, 2)
        )
        assert first == again
        assert len({whole, first, other}) == 3
        assert run("encode", path, "--dropout", "0", input=text).stdout == whole
        assert json.loads(run("encode", path, "--dropout", "0", "--output", "json", input=text).stdout)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--seed", "1"], "--seed needs --dropout"),
        (["--dropout", "2"], "2.0 is not in the range"),
        (["--explain", "--output", "npy", "-o", "x.npy"], "--output npy cannot hold"),
        (["--dropout", "0.1", "--explain"], "--dropout needs --output ids"),
        (["--explain", "--add-special"], "cannot be combined with"),
        (["--output", "subwords", "--pad", "longest"], "cannot be combined with"),
        (["--output", "subwords", "--separator", ""], "separator is empty"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run: Run, tokenizer: str, args: list[str], said: str) -> None:
    train(run, "low 5", 5)
    out = run("encode", "tok.json", *args, input="low")
    assert out.exit_code in (1, 2)
    assert said in out.stderr


def test_formats_without_an_end_of_words_are_refused_before_training(run: Run) -> None:
    Path("a.txt").write_text("low lower\n", encoding="utf-8")
    out = run("train", "a.txt", "--model", "bpe", "-o", "a.tiktoken")
    assert out.exit_code == 1
    assert "a.tiktoken" in out.stderr
    out = run("train", "a.txt", "--model", "bbpe", "--word-end", "apart", "-o", "a.json")
    assert out.exit_code == 2
    assert "--word-end is for --model bpe" in out.stderr
