"""Decoding ids to bytes and text; an id without a token is an error that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from strategies import documents
from tokkit.errors import OptionError, TokkitError

if TYPE_CHECKING:
    import tiktoken

    import tokkit

UNUSED = 2003  # between the special tokens of the `tok` fixture


def test_decode_returns_what_was_encoded(tok: tokkit.Tokenizer) -> None:
    for text in documents(301, 500):
        ids = tok.encode(text)
        assert tok.decode(ids) == text
        assert tok.decode_bytes(ids) == text.encode() == b"".join(tok.token_bytes(id_) for id_ in ids)


def test_every_id_decodes_to_its_token(tok: tokkit.Tokenizer) -> None:
    for id_ in range(tok.n_ids):
        if id_ in tok.vocab:
            assert tok.decode_bytes([id_]) == tok.vocab[id_] == tok.token_bytes(id_)


@given(st.lists(st.integers(0, 1999), max_size=40))
@settings(max_examples=500 if LONG else 150)
def test_ids_that_no_text_gives_decode_as_tiktoken_decodes_them(
    tok: tokkit.Tokenizer, rival: tiktoken.Encoding, ids: list[int]
) -> None:
    assert tok.decode_bytes(ids) == rival.decode_bytes(ids)
    for errors in ("replace", "ignore", "backslashreplace"):
        assert tok.decode(ids, errors=errors) == rival.decode(ids, errors=errors)


def test_cut_characters_are_replaced_ignored_or_an_error_as_asked(tok: tokkit.Tokenizer) -> None:
    ids = [tok.vocab[bytes([byte])] for byte in "🦜".encode()[:3]]
    assert tok.decode(ids) == "\ufffd"
    assert tok.decode(ids, errors="ignore") == ""
    with pytest.raises(UnicodeDecodeError):
        tok.decode(ids, errors="strict")
    with pytest.raises(LookupError):
        tok.decode(ids, errors="no such handler")


def test_ids_may_come_in_any_sequence_or_array(tok: tokkit.Tokenizer) -> None:
    text = "Hello, wörld 你好"
    ids = tok.encode(text)
    arrays = [np.array(ids, dtype=kind) for kind in (np.uint32, np.int64, np.int32, np.uint16, np.uint64, ">u4")]
    strided = np.repeat(np.array(ids, dtype=np.uint32), 2)[::2]
    frozen = np.array(ids, dtype=np.uint32)
    frozen.flags.writeable = False
    for given_ in (ids, tuple(ids), iter(ids), [np.int64(i) for i in ids], *arrays, strided, frozen):
        assert tok.decode(given_) == text
    assert tok.decode_bytes(arrays[0]) == text.encode()


def test_no_ids_decode_to_no_text(tok: tokkit.Tokenizer) -> None:
    for empty in ([], (), np.array([], dtype=np.uint32), np.array([], dtype=np.int64)):
        assert tok.decode(empty) == ""
        assert tok.decode_bytes(empty) == b""


@pytest.mark.parametrize("bad", [-1, 2005, UNUSED, 2**31, 2**32, 2**32 + 5, 2**63, 2**64, 2**64 + 5, -(2**63), 10**40])
def test_an_id_that_is_no_tokens_is_an_error_with_the_id(tok: tokkit.Tokenizer, bad: int) -> None:
    for decode in (tok.decode, tok.decode_bytes):
        with pytest.raises(TokkitError) as caught:
            decode([5, bad, 6])
        assert str(bad) in str(caught.value)
    with pytest.raises(TokkitError, match=str(bad)):
        tok.token_bytes(bad)
    with pytest.raises(TokkitError, match=str(bad)):
        tok.decode_stream().step(bad)
    with pytest.raises(TokkitError, match=str(bad)):
        tok.decode_batch([[1], [bad]])


@pytest.mark.parametrize("bad", [2005, UNUSED, 2**31 - 1, -1])
def test_an_array_with_an_id_that_is_no_tokens_is_an_error_with_the_id(tok: tokkit.Tokenizer, bad: int) -> None:
    for kind in (np.int64, np.int32):
        with pytest.raises(TokkitError, match=str(bad)):
            tok.decode(np.array([1, bad], dtype=kind))


def test_the_error_names_the_range_of_ids(tok: tokkit.Tokenizer) -> None:
    with pytest.raises(TokkitError, match="2004"):
        tok.decode([99_999])


@pytest.mark.parametrize("bad", [True, False, 1.0, None, "5", b"5", [5], 1j, np.float64(3), np.bool_(True)])
def test_what_is_not_an_id_is_an_error(tok: tokkit.Tokenizer, bad: object) -> None:
    for decode in (tok.decode, tok.decode_bytes):
        with pytest.raises((TypeError, TokkitError)):
            decode([5, bad])
    with pytest.raises((TypeError, TokkitError)):
        tok.token_bytes(bad)
    with pytest.raises((TypeError, TokkitError)):
        tok.decode_stream().step(bad)


@pytest.mark.parametrize(
    "bad", [None, 5, "abc", 1.5, np.array([1.0, 2.0]), np.array([True]), np.array([[1, 2]]), np.array(["a"]), object()]
)
def test_what_is_not_a_sequence_of_ids_is_an_error(tok: tokkit.Tokenizer, bad: object) -> None:
    for decode in (tok.decode, tok.decode_bytes):
        with pytest.raises((TypeError, ValueError, TokkitError)):
            decode(bad)


def test_a_batch_decodes_to_a_text_for_each(tok: tokkit.Tokenizer) -> None:
    texts = documents(307, 50)
    assert tok.decode_batch([tok.encode(text) for text in texts]) == texts
    assert tok.decode_batch([tok.encode_to_numpy(text) for text in texts]) == texts
    assert tok.decode_batch([]) == []


class Scalar:
    """An id like a scalar of torch: an index, but no int, and with the hash of an object."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_special_tokens_are_skipped_in_scalars_of_every_kind(tok: tokkit.Tokenizer) -> None:
    special = min(tok.special_tokens.values())
    ids = [5, special, 7]
    for one in (ids, map(np.int64, ids), (np.uint16(id_) for id_ in ids), [Scalar(id_) for id_ in ids], np.array(ids)):
        assert tok.decode(one, skip_special=True) == tok.decode([5, 7])
    with pytest.raises(TypeError, match=r"an id is 1\.5"):
        tok.decode([5, 1.5], skip_special=True)


def test_a_batch_of_encode_batch_decodes_to_its_texts(tok: tokkit.Tokenizer) -> None:
    texts = ["", *documents(307, 50), ""]
    ids, offsets = tok.encode_batch(texts)
    assert tok.decode_batch((ids, offsets)) == texts
    assert tok.decode_batch(tok.encode_batch([])) == []
    # Two sequences in a tuple stay two sequences.
    assert tok.decode_batch((ids[:5], ids[5:9])) == [tok.decode(ids[:5]), tok.decode(ids[5:9])]
    for wrong in (offsets + 1, offsets[::-1], offsets[:0]):
        with pytest.raises(OptionError, match="offsets must be ascending, from 0 to the number of ids"):
            tok.decode_batch((ids, wrong))


def test_ids_of_a_million_tokens_decode_at_once(tok: tokkit.Tokenizer) -> None:
    ids = np.tile(np.arange(2000, dtype=np.uint32), 500)
    assert tok.decode_bytes(ids) == b"".join(tok.vocab[i] for i in range(2000)) * 500
