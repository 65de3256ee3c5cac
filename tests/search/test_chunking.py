"""Chunks have their size, lose no text, cut no character, and end at pauses."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import strategies
import tokkit
from tokkit.errors import OptionError
from tokkit.search import chunking
from tokkit.search.chunking import chunks

if TYPE_CHECKING:
    from pathlib import Path

PROSE = "The river rose in the night. By dawn it stood at the door; nobody slept!\nWhat now? We waited.\n\n" * 30
SIZES = [(8, 0), (8, 4), (20, 5), (64, 8), (200, 100)]


@pytest.fixture(scope="module", params=["bbpe", "wordpiece", "unigram", "bytes"])
def tok(request: pytest.FixtureRequest, bundled: str) -> tokkit.Tokenizer:
    if request.param == "bytes":
        return tokkit.train(iter(["a"]), vocab_size=256)
    return tokkit.train(iter(bundled[:60_000].splitlines(keepends=True)), model=request.param, vocab_size=2500)


def check(text: str, tok: tokkit.Tokenizer, tokens: int, overlap: int) -> list[tuple[int, int]]:
    spans = list(chunks(text, tok, tokens=tokens, overlap=overlap))
    covered = 0
    for start, end in spans:
        chunk = text[start:end]
        assert chunk == chunk.strip() != ""
        assert not text[covered:start].strip(), "nothing but white space is left out"
        # A character that alone has more tokens is the one reason to be longer.
        assert tok.count(chunk) <= max(tokens, max(map(tok.count, chunk)) + 1)
        covered = max(covered, end)
    assert not text[covered:].strip()
    assert all(a < c for (a, _), (c, _) in pairwise(spans))
    return spans


@pytest.mark.parametrize(("tokens", "overlap"), SIZES)
def test_chunks_of_prose_cover_it_within_their_size(tok: tokkit.Tokenizer, tokens: int, overlap: int) -> None:
    spans = check(PROSE, tok, tokens, overlap)
    assert all(not c < b for (_, b), (c, _) in pairwise(spans)) == (overlap == 0)
    for (_, before), (start, _) in pairwise(spans):
        assert tok.count(PROSE[start:before]) <= overlap + 1


@pytest.mark.parametrize("seed", range(12))
def test_chunks_of_any_text_cover_it_within_their_size(tok: tokkit.Tokenizer, seed: int) -> None:
    text = strategies.adversarial(seed, 1500)
    for tokens, overlap in SIZES[seed % 2 :: 2]:
        check(text, tok, tokens, overlap)


def test_real_texts_in_several_scripts_too(tok: tokkit.Tokenizer, corpora: dict[str, Path]) -> None:
    for path in corpora.values():
        check(path.read_bytes()[50_000:54_000].decode("utf-8", "ignore"), tok, 32, 8)


def test_chunks_end_at_the_greatest_pause_of_their_last_third() -> None:
    tok = tokkit.train(iter(["a"]), vocab_size=256)

    def parts(text: str, tokens: int, overlap: int = 0) -> list[str]:
        return [text[a:b] for a, b in chunks(text, tok, tokens=tokens, overlap=overlap)]

    assert parts("aaa aaa. aa aa", 12) == ["aaa aaa.", "aa aa"]
    assert parts("aaa aa.\naa. aa", 12) == ["aaa aa.", "aa. aa"]
    assert parts("aaa a.\n\naa.\naa", 12) == ["aaa a.", "aa.\naa"]
    assert parts("aaaaaaaaaaaaaaa", 12) == ["aaaaaaaaaaaa", "aaa"]
    assert parts("aaa. bb cc dd", 12, 6) == ["aaa. bb cc", "bb cc dd"]
    assert parts("3.14159265358979", 12) == ["3.1415926535", "8979"]
    assert parts("雪が。雪が降る", 12) == ["雪が。", "雪が降る"]


@pytest.mark.parametrize("text", ["", " ", "\n" * 1000, "\u3000\t"])
def test_white_space_has_no_chunks(tok: tokkit.Tokenizer, text: str) -> None:
    assert list(chunks(text, tok, tokens=16)) == []


def test_long_texts_are_cut_before_they_are_tokenized(tok: tokkit.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "SEGMENT", 500)
    check(PROSE, tok, 20, 5)
    check("a" * 3000, tok, 20, 5)


def test_time_grows_with_the_text_and_not_faster() -> None:
    # Steps, not seconds: how often the text is looked at.
    tok = tokkit.train(iter(["a"]), vocab_size=256)
    for text in (" " * 30_000, "a" + " " * 30_000 + "b", "\n\n" * 15_000, "a." * 15_000):
        assert len(list(chunks(text, tok, tokens=256, overlap=32))) < 300


@pytest.mark.parametrize(
    ("tokens", "overlap", "reason"),
    [
        (7, 0, "tokens is 7; it must be at least 8"),
        (True, 0, "tokens is True"),
        (16, 9, "overlap is 9; for chunks of 16 tokens it must be from 0 to 8"),
        (16, -1, "overlap is -1"),
        (16, 1.5, r"overlap is 1\.5"),
    ],
)
def test_sizes_that_cannot_work_are_refused(tok: tokkit.Tokenizer, tokens: int, overlap: int, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        list(chunks("text", tok, tokens=tokens, overlap=overlap))
