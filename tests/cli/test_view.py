"""How `tokkit view` shows tokens: with colours, and plain if the output is not a terminal."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tokkit
from tokkit.corpus.text_counts import RULE

if TYPE_CHECKING:
    from conftest import Run, Start

TEXT = "low lower\nnaïve 東京 🙂\n\n\x1b]0;title\x07 end"


def bare(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def test_without_a_terminal_tokens_stand_between_bars(run: Run, tokenizer: str) -> None:
    out = run("view", tokenizer, input="low lower\nnew")
    tok = tokkit.load(tokenizer)
    pieces = [tok.vocab[id_].decode() for id_ in tok.encode("low lower\nnew")]
    *lines, last = out.stdout.splitlines()
    assert [piece for line in lines for piece in line.strip("│").split("│")] == [p.replace("\n", "\\n") for p in pieces]
    assert last == f"{len(pieces)} tokens, 13 bytes, {13 / len(pieces):.2f} bytes per token ({RULE})"
    assert "\x1b" not in out.stdout


def test_colours_change_from_token_to_token_and_nothing_else_is_a_control(run: Run, tokenizer: str) -> None:
    out = run("view", tokenizer, "--colour", "always", input=TEXT)
    grounds = re.findall(r"\x1b\[30;48;5;(\d+)m", out.stdout)
    assert len(grounds) == tokkit.load(tokenizer).count(TEXT)
    assert all(a != b for a, b in itertools.pairwise(grounds))
    assert "\x1b" not in bare(out.stdout)
    assert "\x07" not in out.stdout
    assert "\\x1b]0;title\\x07" in bare(out.stdout)


def test_a_pipe_and_no_color_mean_no_colours(start: Start, tokenizer: str) -> None:
    out, _ = start("view", tokenizer).communicate(b"low lower", timeout=600)
    assert b"\x1b" not in out


def test_ids_stand_behind_their_tokens(run: Run, tokenizer: str) -> None:
    ids = tokkit.load(tokenizer).encode("low low")
    shown = run("view", tokenizer, "--ids", input="low low").stdout
    assert [int(n) for n in re.findall(r" (\d+)│", shown)] == ids


def test_characters_that_are_cut_are_shown_as_bytes(run: Run) -> None:
    tokkit.train(iter(["abc"]), vocab_size=256).save("bytes.json")
    assert run("view", "bytes.json", input="é").stdout.splitlines()[0] == "│\\xc3│\\xa9│"


@pytest.mark.parametrize("model", ["word", "wordpiece", "bpe"])
def test_all_of_a_text_is_shown_whatever_the_model_covers(run: Run, model: str) -> None:
    tokkit.train(iter(["low lower newest"] * 3), model=model, vocab_size=40).save("t.json")
    text = "low   zzz lower  東京 "
    shown = "".join(run("view", "t.json", input=text).stdout.splitlines()[:-1])
    assert shown.replace("│", "") == text


def test_an_empty_text_has_no_tokens(run: Run, tokenizer: str) -> None:
    assert run("view", tokenizer, input="").stdout == f"0 tokens, 0 bytes ({RULE})\n"


def test_side_by_side_each_line_is_shown_by_each_tokenizer_and_differences_are_marked(run: Run) -> None:
    tokkit.train({"low": 9, " lower": 5}, vocab_size=262).save("a.json")
    tokkit.train({"low": 9, "lower": 5}, model="wordpiece", vocab_size=30).save("b.json")
    out = run("view", "a.json", "--side-by-side", "b.json", input="low low\nlow\n").stdout.splitlines()
    assert [line[:7] for line in out[:4]] == ["a.json ", "b.json "] * 2
    assert out[3] == "b.json \u2502low\u2502"
    assert out[1] == "b.json \u2502low\u2502 low\u2502", "white space around a token is no difference"
    shown = run("view", "a.json", "--side-by-side", "b.json", input="lowest").stdout.splitlines()
    assert "*" not in shown[0], "nothing differs from itself"
    assert "*" in shown[1]
    assert [line.split(":")[0] for line in out[4:]] == ["a.json", "b.json"]


def test_a_page_holds_the_tokens_of_all_tokenizers(run: Run, tokenizer: str) -> None:
    other = tokkit.train({"low": 9}, model="wordpiece", vocab_size=30)
    other.save("b.json")
    out = run("view", tokenizer, "--side-by-side", "b.json", "--html", "-o", "page.html", input=TEXT)
    page = Path("page.html").read_text(encoding="ascii")
    assert out.stdout == f"page.html: {len(page):,} bytes; open it in a browser\n"
    assert f'"n": {tokkit.load(tokenizer).count(TEXT)}, ' in page
    assert f'"n": {other.count(TEXT)}, ' in page
    assert run("view", tokenizer, "--html", "-o", "page.html", input=TEXT).exit_code == 1, "it is not overwritten"
