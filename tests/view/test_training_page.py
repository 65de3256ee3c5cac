"""The page of a training: each step is that of the training, and a browser redraws the text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tokkit
from browser import opened, text_of, title_of
from tokkit.errors import OptionError
from tokkit.view import training_html

CORPUS = ["low lower lowest newer", "wider new low", "slow \u6771\u4eac </script>"] * 5
TEXT = "lowest slow\n\u6771 low"


def data_of(page: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])


def replayed(word: dict[str, Any], merges: int) -> list[bytes]:
    made = [bytes.fromhex(symbol) for symbol in word["symbols"]]
    for rank, at in word["steps"]:
        if rank < merges:
            made[at : at + 2] = [made[at] + made[at + 1]]
    return made


@pytest.mark.parametrize("model", ["bbpe", "bpe"])
def test_after_each_merge_the_text_is_cut_as_by_a_tokenizer_of_that_size(model: str) -> None:
    sizes = range(256, 275) if model == "bbpe" else range(24, 32)
    data = data_of(training_html(CORPUS, TEXT, model=model, vocab_size=sizes[-1]))
    n = len(data["merges"])
    for size in sizes[::3]:
        tok = tokkit.train(iter(CORPUS), model=model, vocab_size=size)
        merges = n - (data["n_tokens"] - len(tok))
        tokens = [token for word in data["words"] for token in replayed(word, merges)]
        assert tokens == tok(TEXT).token_bytes


@pytest.mark.parametrize("score", ["likelihood", "frequency"])
def test_after_each_merge_of_wordpiece_the_text_is_cut_by_the_longest_matches_of_that_vocabulary(score: str) -> None:
    text = TEXT + " lowestlow wid \u2603 " + "x" * 200
    data = data_of(training_html(CORPUS, text, model="wordpiece", vocab_size=60, score=score))
    n = len(data["merges"])
    assert n > 8
    for size in range(60 - n, 61, 2):
        tok = tokkit.train(iter(CORPUS), model="wordpiece", vocab_size=size, score=score)
        merges = n - (data["n_tokens"] - len(tok))
        tokens = []
        for word in data["words"]:
            *_, last = (cut for cut in word["cuts"] if cut[0] <= merges)
            tokens += [bytes.fromhex(token) for token in last[1]]
        assert tokens == tok(text, add_special=False).token_bytes
    assert all(isinstance(merge[3], float) for merge in data["merges"]) == (score == "likelihood")


def test_a_browser_plays_a_training_of_wordpiece(tmp_path: Path) -> None:
    page = training_html(CORPUS, TEXT, model="wordpiece", vocab_size=60)
    acts = """
    const told = [];
    const isNew = () => room.querySelector(".new") !== null;
    for (let k = 0; k <= n; k++) show(k), told.push([room.childElementCount, sizes[k], isNew()]);
    document.title = JSON.stringify(told);"""
    told = json.loads(title_of(opened(page, acts, tmp_path)))
    assert all(shown == size for shown, size, _ in told)
    assert told[0][0] > told[-1][0]
    assert any(fresh for *_, fresh in told)


def test_rounds_of_unigram_have_the_cuts_of_models_of_their_sizes() -> None:
    data = data_of(training_html(CORPUS, TEXT, model="unigram", vocab_size=32))
    last = data["rounds"][-1]
    tok = tokkit.train(iter(CORPUS), model="unigram", vocab_size=32)
    assert [bytes.fromhex(token) for token in last["cut"]] == tok(TEXT).token_bytes
    assert all(each["pieces"] <= each["before"] for each in data["rounds"])


def test_a_browser_steps_forwards_and_backwards(tmp_path: Path) -> None:
    page = training_html(CORPUS, TEXT, vocab_size=270, title="</title><b>")
    acts = """
    const seen = [];
    for (const id of ["forward", "forward", "back"]) {
      element(id).click();
      const fresh = document.querySelectorAll(".new").length;
      seen.push([at, room.childElementCount, room.textContent, fresh, list.childElementCount]);
    }
    show(n);
    seen.push([at, room.childElementCount, room.textContent, 0, 0], sizes);
    room.textContent = JSON.stringify(seen);
    """
    dom = opened(page, acts, tmp_path)
    assert title_of(dom) == "</title><b>"
    one, two, back, end, sizes = json.loads(text_of(dom, "text"))
    tok = tokkit.train(iter(CORPUS), vocab_size=270)
    assert (one[0], two[0], back) == (1, 2, one)
    assert one[3] > 0
    assert two[4] == 2
    assert end[1] == tok.count(TEXT) == sizes[-1]
    assert sizes[0] == len(TEXT.encode())
    assert "\u6771" in end[2] or "\\xe6" in end[2]


def test_what_cannot_be_watched_is_refused() -> None:
    with pytest.raises(OptionError, match="model is 'char'; it must be one of"):
        training_html(CORPUS, TEXT, model="char")
    with pytest.raises(OptionError, match="has 4001 characters"):
        training_html(CORPUS, "a" * 4001)
