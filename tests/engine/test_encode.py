"""Encoding a text: `encode`, its array and counting forms, and the Encoding object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_points import code_points
from conftest import LONG, Small
from extras import extra
from reference.bpe_encode import merge_list_bpe, rank_bpe, ranked
from reference.split import split
from strategies import CONTEXTS, adversarial, code_points_in_context, documents, texts
from tokkit.pretokenizers import patterns

if TYPE_CHECKING:
    import tiktoken

    import tokkit

TEXT = "Hello, wörld! It's 12345 o'clock — 你好，世界 🦜🏽\r\n\n  def f(x):\treturn x\n"


def utf8(text: str) -> bytes:
    """UTF-8 of a str as tiktoken sees it: pairs of surrogates joined, lone ones replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def test_ids_are_a_list_of_int(tok: tokkit.Tokenizer) -> None:
    ids = tok.encode(TEXT)
    assert type(ids) is list
    assert {type(id_) for id_ in ids} == {int}
    assert ids


def test_the_array_form_holds_the_same_ids_as_uint32(tok: tokkit.Tokenizer) -> None:
    array = tok.encode_to_numpy(TEXT)
    assert array.dtype == np.uint32
    assert array.ndim == 1
    assert array.tolist() == tok.encode(TEXT) == tok.encode_ordinary(TEXT)


def test_the_array_belongs_to_its_caller(tok: tokkit.Tokenizer) -> None:
    first = tok.encode_to_numpy(TEXT)
    copy = first.copy()
    tok.encode_to_numpy(adversarial(3, 5000))
    assert np.array_equal(first, copy)
    first[:] = 0
    assert np.array_equal(tok.encode_to_numpy(TEXT), copy)


def test_empty_text_has_no_ids(tok: tokkit.Tokenizer) -> None:
    for empty in ("", b"", bytearray(), memoryview(b"")):
        assert tok.encode(empty) == [] == tok.encode_ordinary(empty) == tok.encode_to_numpy(empty).tolist()
        assert tok.count(empty) == 0
        assert tok.fits(empty, 0)


def test_bytes_and_their_views_encode_like_the_text(tok: tokkit.Tokenizer) -> None:
    data = TEXT.encode()
    for given_ in (data, bytearray(data), memoryview(data), memoryview(bytearray(data)), np.str_(TEXT)):
        assert tok.encode(given_) == tok.encode(TEXT)
        assert tok.encode_to_numpy(given_).tolist() == tok.encode(TEXT)
        assert tok.count(given_) == len(tok.encode(TEXT))


def test_strings_of_every_width_in_memory_encode_alike(tok: tokkit.Tokenizer, rival: tiktoken.Encoding) -> None:
    # CPython keeps a str in 1, 2 or 4 bytes a character, as its widest one wants.
    for text in ("plain ascii", "latin-1 é", "two bytes ж", "four bytes 🦜", "é" * 1000, "ж" * 1000, "🦜" * 1000):
        assert tok.encode(text) == rival.encode_ordinary(text) == tok.encode(text.encode())


@pytest.mark.parametrize("pattern", [*patterns.NAMES, "none"])
@pytest.mark.parametrize("kind", ["rank", "merges"])
def test_ids_equal_those_of_the_naive_twin(
    make_tokenizer: Callable[..., tokkit.Tokenizer], small: Small, kind: str, pattern: str
) -> None:
    ours = make_tokenizer(kind, pattern)
    ids, merges, memo = small.ids, ranked(small.merges), {}
    longest = 60 if pattern == "none" else 400
    for text in documents(17, 2000 if LONG else 30, longest=longest):
        wanted = []
        for piece in split(patterns.resolve(pattern), text):
            if piece not in memo:
                data = piece.encode()
                memo[piece] = rank_bpe(data, ids) if kind == "rank" else merge_list_bpe(data, ids, merges)
            wanted += memo[piece]
        assert ours.encode(text) == wanted, repr(text)


@pytest.mark.parametrize(
    "pattern", [r"\w+|\s+|[^\w\s]+", r"\p{L}+|\p{N}|[^\p{L}\p{N}]+", r"[a-z]+", r"(?i)the|.", r".{1,5}"]
)
def test_a_pattern_of_the_users_own_splits_as_regex_does(
    make_tokenizer: Callable[..., tokkit.Tokenizer], small: Small, pattern: str
) -> None:
    import regex

    for keep in (False, True):
        ours = make_tokenizer("rank", pattern, keep_unmatched=keep)
        for text in [TEXT, "", "no match: ÄÖÜ", *documents(5, 40, longest=80)]:
            pieces, end = [], 0
            for match in regex.finditer(pattern, text):
                pieces += [text[end : match.start()]] * keep + [match.group()]
                end = match.end()
            pieces += [text[end:]] * keep
            wanted = [id_ for piece in pieces if piece for id_ in rank_bpe(piece.encode(), small.ids)]
            assert ours.encode(text) == wanted, repr(text)


@given(texts())
@settings(max_examples=300 if LONG else 100)
def test_all_ways_to_encode_agree_and_decode_returns_the_text(tok: tokkit.Tokenizer, text: str) -> None:
    ids = tok.encode(text)
    assert tok.decode(ids) == text
    assert tok.decode_bytes(ids) == text.encode()
    assert tok.encode_to_numpy(text).tolist() == ids
    assert tok.encode(text.encode()) == ids
    assert tok.count(text) == len(ids)
    assert tok(text).ids == ids
    assert tok.fits(text, len(ids))
    assert not tok.fits(text, len(ids) - 1)


@given(texts(max_size=25))
@settings(max_examples=300 if LONG else 100)
def test_ids_of_any_text_equal_tiktokens(tok: tokkit.Tokenizer, rival: tiktoken.Encoding, text: str) -> None:
    assert tok.encode(text) == rival.encode_ordinary(text)


def test_lone_surrogates_become_replacement_characters(tok: tokkit.Tokenizer, rival: tiktoken.Encoding) -> None:
    for text in ("\ud800", "a\udfffb", "\ud83d\ude00", "\udc00\ud800", " \ud800\ud800 x", "é\udcff", "🦜\ud83d"):
        assert tok.encode(text) == rival.encode_ordinary(text), repr(text)
        assert tok.decode_bytes(tok.encode(text)) == utf8(text)
    for text in documents(23, 150, longest=120, surrogates=True):
        assert tok.encode(text) == rival.encode_ordinary(text), repr(text)


def test_nul_and_other_controls_are_text(tok: tokkit.Tokenizer, rival: tiktoken.Encoding) -> None:
    for text in ("\0", "a\0b", "\0" * 100, "a\0'\0s", " \0\n", "".join(map(chr, range(160)))):
        assert tok.encode(text) == rival.encode_ordinary(text)
        assert tok.decode(tok.encode(text)) == text


def test_byte_offsets_cut_the_text_into_its_tokens(tok: tokkit.Tokenizer) -> None:
    for text in [TEXT, *documents(29, 200)]:
        encoding = tok(text)
        data, end = text.encode(), 0
        assert len(encoding.ids) == len(encoding.tokens) == len(encoding.offsets) == len(encoding.byte_offsets)
        for id_, token, (start, stop) in zip(encoding.ids, encoding.token_bytes, encoding.byte_offsets, strict=True):
            assert start == end
            assert data[start:stop] == token == tok.token_bytes(id_)
            end = stop
        assert end == len(data)


def test_character_offsets_cover_each_character_that_a_token_touches(tok: tokkit.Tokenizer) -> None:
    for text in [TEXT, " 🦜", "🦜🏽", *documents(31, 200)]:
        encoding = tok(text)
        of_byte = [i for i, character in enumerate(text) for _ in character.encode()]
        wanted = [(of_byte[start], of_byte[stop - 1] + 1) for start, stop in encoding.byte_offsets]
        assert [tuple(pair) for pair in encoding.offsets] == wanted, repr(text)


def test_character_offsets_begin_where_tiktokens_do(tok: tokkit.Tokenizer, rival: tiktoken.Encoding) -> None:
    for text in [TEXT, *documents(37, 200)]:
        encoding = tok(text)
        _, starts = rival.decode_with_offsets(encoding.ids)
        assert [start for start, _ in encoding.offsets] == starts, repr(text)


def test_offsets_into_a_text_with_surrogates_count_its_own_characters(tok: tokkit.Tokenizer) -> None:
    for text in ("a\ud800b", "\udfff", "é\udc00 \ud83d.", "🦜\ud83d🦜"):
        encoding = tok(text)
        assert encoding.ids == tok.encode(text)
        assert encoding.offsets[0][0] == 0
        assert encoding.offsets[-1][1] == len(text)
        assert all(0 <= start < end <= len(text) for start, end in encoding.offsets)


@given(texts(max_size=20), st.integers(0, 30))
@settings(max_examples=300 if LONG else 100)
def test_truncate_keeps_the_longest_whole_prefix_that_fits(tok: tokkit.Tokenizer, text: str, n: int) -> None:
    kept, used = tok.truncate(text, n)
    assert text.startswith(kept)
    assert used == tok.count(kept) <= n
    ids = tok.encode(text)
    data = tok.decode_bytes(ids[:n])
    limit = len(data.decode("utf-8", "ignore"))
    longest = max(k for k in range(limit + 1) if tok.count(text[:k]) <= n)
    assert kept == text[:longest], (text, n)


def test_truncate_gives_back_a_text_that_fits_as_it_is(tok: tokkit.Tokenizer) -> None:
    n = tok.count(TEXT)
    assert tok.truncate(TEXT, n) == (TEXT, n) == tok.truncate(TEXT, n + 10)
    assert tok.truncate(TEXT, 0) == ("", 0)
    assert tok.truncate("", 5) == ("", 0)


def test_truncate_gives_a_prefix_where_a_pattern_leaves_text_out() -> None:
    import tokkit

    vocab = tokkit.Vocab.from_list([bytes([byte]) for byte in range(256)])
    split = tokkit.Split("[^a]", keep_unmatched=False)
    tok = tokkit.Tokenizer(tokkit.Definition(vocab=vocab, model=tokkit.BPE(), pretokenizer=split))
    assert tok.decode(tok.encode("ab ba abc")) == "b b bc"
    assert [tok.truncate("ab ba abc", n) for n in (0, 1, 3, 4, 6)] == [
        ("", 0), ("ab", 1), ("ab b", 3), ("ab ba ", 4), ("ab ba abc", 6)
    ]  # fmt: skip


def test_budgets_are_any_kind_of_int_and_special_tokens_count_as_they_are_read(tok: tokkit.Tokenizer) -> None:
    text = "one<|endoftext|>two"
    assert tok.truncate(TEXT, np.int64(3)) == tok.truncate(TEXT, 3)
    n = tok.count(text, special="all")
    assert tok.fits(text, n, special="all")
    assert not tok.fits(text, n)
    assert tok.truncate(text, n, special="all") == (text, n)


@pytest.mark.parametrize("n", [-1, 1.5, None, "3", True])
def test_a_budget_that_is_no_count_is_an_error(tok: tokkit.Tokenizer, n: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        tok.truncate(TEXT, n)
    if not isinstance(n, (int, float)):
        with pytest.raises((TypeError, ValueError)):
            tok.fits(TEXT, n)


def test_one_tokenizer_answers_alike_before_and_after_much_other_text(tok: tokkit.Tokenizer) -> None:
    before = tok.encode(TEXT)
    for text in documents(41, 2000):
        tok.encode_to_numpy(text)
    assert tok.encode(TEXT) == before


def test_code_points_beside_everything_a_pattern_looks_at(tok: tokkit.Tokenizer, rival: tiktoken.Encoding) -> None:
    # Every 97th code point here; test_parity.py takes all.
    points = [cp for cp in (*range(0x300), *range(0x300, 0x110000, 97)) if not 0xD800 <= cp < 0xE000]
    for cp in points:
        text = "¦".join(code_points_in_context(cp, CONTEXTS))
        assert tok.encode(text) == rival.encode_ordinary(text), hex(cp)


def test_the_core_knows_the_categories_of_unicode_16() -> None:
    unicodedata2 = extra("unicodedata2")
    if unicodedata2.unidata_version != "16.0.0":
        pytest.skip(
            f"needs Unicode 16.0.0: pip install unicodedata2==16.0.0 (this one has {unicodedata2.unidata_version})"
        )
    from reference.stand_ins import REPRESENTATIVES
    from tokkit._core.text import category

    names = [name for name, _ in REPRESENTATIVES]
    special = {0x0A: 31, 0x0D: 31, 0x09: 30, 0x0B: 30, 0x0C: 30, 0x85: 30}
    for cp in range(0x110000):
        assert category(cp) == special.get(cp, names.index(unicodedata2.category(chr(cp)))), hex(cp)


def test_the_core_knows_the_script_han_of_unicode_16() -> None:
    from reference.stand_ins import is_han
    from tokkit._core.text import is_han as of_core

    wrong = [hex(cp) for cp in code_points() if of_core(cp) != is_han(chr(cp))]
    assert not wrong
    assert sum(map(of_core, range(0x110000))) == 99_030  # the total that Scripts.txt 16.0.0 gives
