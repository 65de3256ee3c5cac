"""The report on a vocabulary: its counts are right, and no token runs as code on the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tokkit
from browser import opened, title_of
from tokkit.errors import OptionError
from tokkit.view import report_html
from tokkit.view.vocabulary_report import kind_of, script_of

CORPUS = ["low lower lowest newer wider new low 2024 \u6771\u4eac"] * 9


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train(iter(CORPUS), vocab_size=280, special_tokens=["</script>"])


def data_of(page: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])


def test_every_token_is_of_one_kind_and_texts_are_measured(tok: tokkit.Tokenizer) -> None:
    texts = {"one": "low lowest", "two": "x \u6771\u4eac\n"}
    data = data_of(report_html(tok, texts))
    bars = dict(data["bars"])
    own = len(tok) - 1
    assert sum(n for _, n in bars["Kinds of tokens"]) == sum(n for _, n in bars["Scripts of tokens"]) == own
    assert sum(n for _, n in bars["Tokens in a word of the texts"]) == 4
    for name, n, per_word, per_token in data["texts"]:
        text = texts[name]
        assert n == tok.count(text)
        assert (per_word, per_token) == (round(n / 2, 3), round(len(text.encode()) / n, 3))
    assert dict(data["facts"])["special"] == "1"


def test_lists_are_of_tokens_that_are_so(tok: tokkit.Tokenizer) -> None:
    text = "lowest"
    lists = {name.split(":")[0]: (n, some) for name, n, some in data_of(report_html(tok, {"a": text}))["lists"]}
    used = set(tok.encode(text))
    n, never = lists["Never used by these texts"]
    assert n == len(tok) - 1 - len(used)
    assert not used & {id_ for _, id_ in never}
    inside = [spelt for spelt, _ in lists["Only inside others"][1]]
    assert inside
    assert all(any(part in tok.vocab[id_] for id_ in used) for part in map(str.encode, inside))
    for _, id_ in lists["Not what their own text gives"][1]:
        assert tok.encode(tok.vocab[id_].decode()) != [id_]
    assert {id_: times for _, id_, times in lists["Most used"][1]} == dict.fromkeys(used, 1)


def test_kinds_and_scripts_are_told_apart() -> None:
    kinds = [b" low", b"low", b"  ", b"20", b"\xe6\x9d", b"->", b"a1", "\u2581low".encode()]
    assert [kind_of(token) for token in kinds] == [
        "letters after a space", "letters", "white space", "digits", "bytes of a part of a character",
        "punctuation and symbols", "mixed", "letters after a space",
    ]  # fmt: skip
    texts = ("abc", "\u0431", "\u6771", "a\u0431", "12", "\u00b5", "\uff41\u00ba", "\u02b9")
    assert [script_of(text.encode()) for text in texts] == [
        "Latin", "Cyrillic", "CJK", "several", "none", "Greek", "Latin", "none"
    ]  # fmt: skip


def test_no_token_acts_and_other_models_have_reports(tmp_path: Path) -> None:
    hostile = "</script><img/src=x/onerror=alert(1)>"
    tok = tokkit.train({hostile: 9, "low": 5}, model="word", vocab_size=20)
    page = report_html(tok, {hostile: f"low {hostile} \u202e"}, title=hostile)
    page.encode("ascii")
    assert page.count("<script") == 2
    acts = "document.title = [document.images.length, report.textContent.includes('onerror')].join()"
    dom = opened(page, acts, tmp_path)
    assert title_of(dom) == "0,true"
    for model, size in (("bpe", 30), ("wordpiece", 60), ("unigram", 30)):
        other = tokkit.train(iter(CORPUS), model=model, vocab_size=size)
        names = [name.split(":")[0] for name, *_ in data_of(report_html(other, {"a": "low"}))["lists"]]
        assert ("Only inside others" in names) == (model == "bpe")
    with pytest.raises(OptionError, match="there is no text"):
        report_html(tok, {"a": ""})
