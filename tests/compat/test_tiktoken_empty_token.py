"""Ranks with a token without bytes, which Whisper's files have, are those of tiktoken in each way to load them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

import tokkit
from strategies import documents
from tokkit.compat import tiktoken as face
from tokkit.errors import OptionError

tiktoken = pytest.importorskip("tiktoken")
from tiktoken.load import load_tiktoken_bpe  # noqa: E402

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"": 256, b"ab": 257, b" a": 258}
PATTERN = r" ?\w+|\W"
SPECIALS = {"<|end|>": 260}


@pytest.fixture
def both() -> tuple[Any, Any]:
    options = {"pat_str": PATTERN, "mergeable_ranks": RANKS, "special_tokens": SPECIALS}
    return tiktoken.Encoding("empty", **options), face.Encoding("empty", **options)


def test_an_encoding_has_the_empty_token(both: tuple[Any, Any]) -> None:
    theirs, ours = both
    for name in ("n_vocab", "max_token_value", "special_tokens_set"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert ours._mergeable_ranks == theirs._mergeable_ranks
    for call in (
        lambda made: made.decode([256]),
        lambda made: made.decode_bytes([97, 256, 258]),
        lambda made: made.decode_tokens_bytes([256, 257]),
        lambda made: made.decode_single_token_bytes(256),
        lambda made: made.encode_single_token(b""),
        lambda made: made.encode_single_token(""),
        lambda made: made._encode_single_piece(b""),
        lambda made: made.encode(""),
        lambda made: made.encode_with_unstable(""),
        lambda made: made.encode("ab a<|end|>", allowed_special="all"),
        lambda made: made.is_special_token(256),
    ):
        assert call(ours) == call(theirs)
    for text in documents(907, 20):
        assert ours.encode(text, disallowed_special=()) == theirs.encode(text, disallowed_special=())


def test_an_id_of_the_empty_token_above_the_others_counts() -> None:
    ranks = {token: id_ for token, id_ in RANKS.items() if token} | {b"": 300}
    theirs, ours = (
        made.Encoding("high", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}) for made in (tiktoken, face)
    )
    assert ours.n_vocab == theirs.n_vocab == 301


@pytest.mark.parametrize("package", [tiktoken, face])
def test_from_tiktoken_keeps_the_empty_token(package: Any) -> None:
    enc = package.Encoding("empty", pat_str=PATTERN, mergeable_ranks=RANKS, special_tokens=SPECIALS)
    tok = tokkit.from_tiktoken(enc)
    assert tok.vocab.empty == 256
    assert tok.decode([257, 256, 260]) == "ab<|end|>"
    assert tok.encode("ab ab") == enc.encode("ab ab")


def test_a_file_with_an_empty_token_is_read_and_written_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    path = tmp_path / "multilingual.tiktoken"
    path.write_bytes(b"".join((base64.b64encode(token) or b"=") + b" %d\n" % id_ for token, id_ in RANKS.items()))
    assert face.load.load_tiktoken_bpe(str(path)) == load_tiktoken_bpe(str(path)) == RANKS
    face.load.dump_tiktoken_bpe(RANKS, str(tmp_path / "again.tiktoken"))
    assert (tmp_path / "again.tiktoken").read_bytes() == path.read_bytes()
    tok = tokkit.load(path, pattern=PATTERN, special_tokens=SPECIALS)
    theirs = tiktoken.Encoding("empty", pat_str=PATTERN, mergeable_ranks=RANKS, special_tokens=SPECIALS)
    for text in documents(911, 20):
        ids = theirs.encode(text, disallowed_special=())
        assert tok.encode(text) == ids
        assert tok.decode([256, *ids, 256]) == theirs.decode([256, *ids, 256])
    tok.save(tmp_path / "saved.tiktoken")
    assert (tmp_path / "saved.tiktoken").read_bytes() == path.read_bytes()
    assert tokkit.load(tmp_path / "saved.tiktoken").fingerprint() == tok.fingerprint()
    with pytest.raises(tokkit.FormatError, match="no empty token"):
        tokkit.load(path, pattern=PATTERN, special_tokens={}).save(tmp_path / "tekken.json")


def test_a_pattern_that_matches_nothing_is_refused_with_an_empty_token() -> None:
    theirs = tiktoken.Encoding("empty", pat_str=r"\w*", mergeable_ranks=RANKS, special_tokens={})
    assert theirs.encode("  ab") == [256, 256, 257]
    with pytest.raises(OptionError, match="may match the empty text"):
        face.Encoding("empty", pat_str=r"\w*", mergeable_ranks=RANKS, special_tokens={})
