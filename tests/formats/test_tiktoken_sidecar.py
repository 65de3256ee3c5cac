"""Rank files and their sidecar files, which have the pattern and the special tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tokkit
from tokkit import formats
from tokkit.definition import Definition
from tokkit.errors import TokkitError

Make = Callable[..., Definition]


def test_ranks_have_their_pattern_and_special_tokens_beside_them(tmp_path: Path, shared: Path) -> None:
    theirs = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    text = "low lower<|end|> lowest 2026  newest"
    for pattern in ("cl100k", None):
        tok = tokkit.train(iter([text] * 20), vocab_size=270, pattern=pattern, special_tokens=["<|end|>"])
        path = tmp_path / "own.tiktoken"
        assert tok.save(path) == [path, tmp_path / "own.tiktoken.json"]
        again = tokkit.load(path)
        assert again.fingerprint() == tok.fingerprint()
        assert sorted(map(str, tok.save(path))) == sorted(formats.files_of(path))
        beside = json.loads((tmp_path / "own.tiktoken.json").read_text())
        rival = theirs.Encoding("own", mergeable_ranks=load_tiktoken_bpe(str(path)), **beside)
        assert rival.encode(text, allowed_special="all") == tok.encode(text, special="all")
        with pytest.raises(FileExistsError):
            tok.save(path, overwrite=False)
    # What the caller says goes first; a published file needs no more, and drops what is there of another tokenizer.
    assert tokkit.load(path, pattern="gpt2", special_tokens={}).special_tokens == {}
    published = tokkit.load(shared / "vocabs" / "r50k_base.tiktoken")
    assert published.save(path) == [path, tmp_path / "own.tiktoken.json"]
    assert published.save(tmp_path / "new.tiktoken") == [tmp_path / "new.tiktoken"]
    assert tokkit.load(path).fingerprint() == tokkit.load(tmp_path / "new.tiktoken").fingerprint()


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("[]", "an object is needed"),
        ("{}", "pat_str: missing"),
        ('{"pat_str": "a", "special_tokens": {"<x>": -1}}', "an id from 0"),
        ('{"pat_str": "a", "special_tokens": {}, "more": 1}', "more: unknown key"),
        ('{"pat_str": "(", "special_tokens": {}}', "."),
    ],
)
def test_a_wrong_sidecar_is_named(says: str, reason: str, tmp_path: Path, make: Make) -> None:
    formats.write(make(), tmp_path / "a.tiktoken")
    (tmp_path / "a.tiktoken.json").write_text(says)
    with pytest.raises(TokkitError, match=reason):
        tokkit.load(tmp_path / "a.tiktoken")


def test_a_pipe_that_gets_ranks_alone_is_told_of(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    formats.write(make(), "/dev/null", format="tiktoken")
    assert "without the pattern and the special tokens" in caplog.text
