"""Decode streams return text as soon as it is complete; concatenated, it is the text of decoding at once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from conftest import LONG
from reference.decode_stream import text_of_ids
from strategies import documents, texts
from tokkit.errors import TokkitError


def stream(tok: tokkit.Tokenizer, ids: list[int]) -> list[str]:
    """The text of each step, and of the flush."""
    steps = tok.decode_stream()
    return [*(steps.step(id_) for id_ in ids), steps.flush()]


def test_a_stream_gives_the_text_of_decode(tok: tokkit.Tokenizer) -> None:
    for text in documents(401, 300):
        ids = tok.encode(text)
        assert "".join(stream(tok, ids)) == text


@given(st.lists(st.integers(0, 1999), max_size=30))
@settings(max_examples=500 if LONG else 150)
def test_a_stream_of_any_ids_gives_the_text_of_decode(tok: tokkit.Tokenizer, ids: list[int]) -> None:
    assert "".join(stream(tok, ids)) == tok.decode(ids)


def test_a_step_holds_back_a_cut_character_and_nothing_else(tok: tokkit.Tokenizer) -> None:
    one_byte = [tok.vocab[bytes([byte])] for byte in "aé🦜".encode()]
    assert stream(tok, one_byte) == ["a", "", "é", "", "", "", "🦜", ""]


def test_flush_gives_what_an_unfinished_character_is_replaced_by(tok: tokkit.Tokenizer) -> None:
    steps = tok.decode_stream()
    first = tok.vocab[b"\xf0"]
    assert steps.step(first) == ""
    assert steps.flush() == "\ufffd"
    assert steps.flush() == ""
    # A stream can go on behind its flush.
    assert steps.step(tok.vocab[b"a"]) == "a"


def test_bytes_that_can_never_be_text_are_not_held_back(tok: tokkit.Tokenizer) -> None:
    steps = tok.decode_stream()
    assert steps.step(tok.vocab[b"\xff"]) == "\ufffd"
    assert steps.step(tok.vocab[b"\xf0"]) == ""
    assert steps.step(tok.vocab[b"a"]) == "\ufffda"
    assert steps.flush() == ""


def test_two_streams_of_one_tokenizer_do_not_mix(tok: tokkit.Tokenizer) -> None:
    left, right = tok.decode_stream(), tok.decode_stream()
    é, д = "é".encode(), "д".encode()
    assert left.step(tok.vocab[é[:1]]) == "" == right.step(tok.vocab[д[:1]])
    assert left.step(tok.vocab[é[1:]]) == "é"
    assert right.step(tok.vocab[д[1:]]) == "д"


def test_a_bad_id_leaves_the_stream_as_it_was(tok: tokkit.Tokenizer) -> None:
    steps = tok.decode_stream()
    assert steps.step(tok.vocab[b"\xc3"]) == ""
    with pytest.raises(TokkitError):
        steps.step(10**6)
    assert steps.step(tok.vocab[b"\xa9"]) == "é"


def test_special_tokens_stream_as_their_text(tok: tokkit.Tokenizer) -> None:
    text = "héllo<|endoftext|>"
    assert "".join(stream(tok, tok.encode(text, special="all"))) == text


def test_a_strict_stream_begins_anew_after_it_has_refused_what_is_left(tok: tokkit.Tokenizer) -> None:
    steps = tok.decode_stream(errors="strict")
    assert steps.step(tok.vocab[b"\xc3"]) == ""
    with pytest.raises(UnicodeDecodeError):
        steps.flush()
    assert steps.step(tok.vocab[b"a"]) == "a"


@given(text=texts(max_size=30))
@settings(max_examples=300 if LONG else 100)
def test_no_step_of_a_text_has_a_replacement_for_a_cut_character(tok: tokkit.Tokenizer, text: str) -> None:
    text = text.encode("utf-8", "ignore").decode().replace("\ufffd", "")
    by_bytes = [tok.vocab[bytes([byte])] for byte in text.encode()]
    for ids in (tok.encode(text), by_bytes):
        parts = stream(tok, ids)
        assert "\ufffd" not in "".join(parts)
        assert "".join(parts) == text


@pytest.mark.parametrize("name", ["mistral-v1/tokenizer.json", "t5/tokenizer.json", "bert-base-uncased/tokenizer.json"])
def test_streams_of_components_have_no_replacements_either(shared: Path, name: str) -> None:
    import tokkit

    tok = tokkit.load(shared / "vocabs" / name)
    for text in documents(403, 60):
        text = text.encode("utf-8", "ignore").decode().replace("\ufffd", "")
        ids = tok.encode(text)
        parts = stream(tok, ids)
        assert "".join(parts) == tok.decode(ids)
        assert "\ufffd" not in "".join(parts)


@pytest.mark.parametrize("name", ["mistral-v1/tokenizer.json", "mistral-v1/tokenizer.model", "phi-3/tokenizer.json"])
def test_a_run_of_byte_tokens_is_shown_character_by_character(name: str, shared: Path) -> None:
    """Nine emoji, each of four byte tokens, after a token for the space before the text."""
    tok = tokkit.load(shared / "vocabs" / name)
    text = "🫠🫡🫢🫣🫤🥹🫥🫦🫧"
    ids = tok.encode(text)
    steps = stream(tok, ids)
    assert len(ids) == 37
    assert [i for i, part in enumerate(steps) if part] == list(range(4, 37, 4))
    assert "".join(steps) == tok.decode(ids) == text


def test_steps_of_byte_tokens_are_those_of_tokenizers(shared: Path) -> None:
    """Until an invalid byte changes text that was returned: there tokenizers raises an error."""
    tokenizers = pytest.importorskip("tokenizers")
    path = shared / "vocabs" / "phi-3" / "tokenizer.json"
    tok, theirs = tokkit.load(path), tokenizers.Tokenizer.from_file(str(path))
    rng = random.Random(2311)
    byte_ids = [tok.vocab[f"<0x{byte:02X}>"] for byte in "é東🦜A".encode()]
    others = [tok.vocab[token] for token in ("a", "▁the", "▁", "ing")]
    characters = [[tok.vocab[f"<0x{byte:02X}>"] for byte in text.encode()] for text in "é東🦜A"]
    for _ in range(500 if LONG else 100):
        parts = [rng.choice([*characters, *([id_] for id_ in others)]) for _ in range(8)]
        ids = [id_ for part in parts for id_ in part]
        rival = tokenizers.decoders.DecodeStream(skip_special_tokens=False)
        assert stream(tok, ids)[:-1] == [rival.step(theirs, id_) or "" for id_ in ids]
    for _ in range(500 if LONG else 100):
        ids = [rng.choice([*byte_ids, *others]) for _ in range(12)]
        assert "".join(stream(tok, ids)) == text_of_ids(tok, ids)
