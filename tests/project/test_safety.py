"""Hostile and mistaken input raises a clear error: no crash, no leak, no wrong id."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokkit import limits
from tokkit.definition import Definition, Split
from tokkit.errors import OptionError, PatternError, TokkitError, VocabError
from tokkit.models.bpe import BPE
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    import tokkit

ENTRY_POINTS: dict[str, Callable[[tokkit.Tokenizer, object], object]] = {
    "encode": lambda tok, text: tok.encode(text),
    "encode with special tokens": lambda tok, text: tok.encode(text, special="all"),
    "encode that refuses special tokens": lambda tok, text: tok.encode(text, special="raise"),
    "encode_ordinary": lambda tok, text: tok.encode_ordinary(text),
    "encode_to_numpy": lambda tok, text: tok.encode_to_numpy(text),
    "encode_batch": lambda tok, text: tok.encode_batch([text]),
    "call": lambda tok, text: tok(text),
    "count": lambda tok, text: tok.count(text),
    "fits": lambda tok, text: tok.fits(text, 5),
    "truncate": lambda tok, text: tok.truncate(text, 5),
}


class Index:
    """Passes for an integer where `__index__` is asked."""

    def __index__(self) -> int:
        return 5


NO_TEXT = [
    None,
    5,
    1.5,
    True,
    ["a"],
    ("a",),
    {"a": 1},
    object(),
    Index(),
    np.array([1, 2]),
    np.array("a"),
    Path("a"),
    str,
]
NO_UTF_8 = [
    b"\xff",
    b"ab\x80",
    b"\xc3",
    b"a\xe4\xbd",
    b"\xf0\x9f\xa6",
    b"\xc0\xaf",
    b"\xc1\xbf",
    b"\xe0\x80\x80",
    b"\xe0\x9f\xbf",
    b"\xed\xa0\x80",
    b"\xed\xbf\xbf",
    b"\xf0\x80\x80\x80",
    b"\xf0\x8f\xbf\xbf",
    b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80",
    b"\xfe\xfe",
    b"x" * 100 + b"\xe4",
    b"x" * 63 + b"\xe4\xbd" + b"x" * 63,
]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_what_is_no_text_is_a_type_error_that_names_its_type(tok: tokkit.Tokenizer, entry: str) -> None:
    for bad in NO_TEXT:
        with pytest.raises(TypeError, match=type(bad).__name__):
            ENTRY_POINTS[entry](tok, bad)


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_bytes_that_are_no_utf_8_are_an_error_with_the_place(tok: tokkit.Tokenizer, entry: str) -> None:
    for bad in NO_UTF_8:
        with pytest.raises(UnicodeDecodeError) as found:
            bad.decode()
        for given in (bad, bytearray(bad), memoryview(bad)):
            with pytest.raises(ValueError, match=rf"\b{found.value.start}\b"):
                ENTRY_POINTS[entry](tok, given)


def test_random_bytes_are_refused_exactly_where_python_refuses_them(tok: tokkit.Tokenizer) -> None:
    rng = random.Random(701)
    alphabet = b"a\x80\xbf\xc2\xc3\xe0\xe4\xed\xef\xf0\xf4\xa0\x9f\x8f\x90\xbd"
    for _ in range(20_000):
        data = bytes(rng.choices(alphabet, k=rng.randint(1, 12)))
        try:
            text = data.decode()
        except UnicodeDecodeError:
            with pytest.raises(ValueError, match="UTF-8"):
                tok.encode(data)
        else:
            assert tok.encode(data) == tok.encode(text)


def test_views_that_are_not_plain_bytes_are_read_right_or_refused(tok: tokkit.Tokenizer) -> None:
    data = "héllo wörld".encode()
    spread = memoryview(bytes(b for byte in data for b in (byte, 0)))[::2]
    words = memoryview(np.array([1, 2], dtype=np.uint32))
    for view in (spread, words, memoryview(data).cast("B", (1, len(data)))):
        try:
            ids = tok.encode(view)
        except (TypeError, ValueError, BufferError):
            continue
        assert ids == tok.encode(bytes(view))
    assert tok.encode(memoryview(data)[1:3]) == tok.encode("é")
    view = memoryview(data)
    view.release()
    with pytest.raises(ValueError, match="released"):
        tok.encode(view)


def test_a_bytearray_may_be_changed_again_after_it_was_encoded(tok: tokkit.Tokenizer) -> None:
    data = bytearray("héllo".encode())
    tok.encode(data)
    with pytest.raises(ValueError, match="UTF-8"):
        tok.encode(bytearray(b"a\xff"))
    tok.encode_batch([data, data])
    data.extend(b"!")  # a buffer still held would make this a BufferError
    assert tok.decode(tok.encode(data)) == "héllo!"


def test_a_subclass_of_str_is_its_text_and_nothing_of_its_own_runs(tok: tokkit.Tokenizer) -> None:
    class Loud(str):
        def encode(self, *_: object) -> bytes:
            raise AssertionError("called")

        __len__ = __iter__ = __getitem__ = encode  # type: ignore[assignment]

    assert tok.encode(Loud("héllo")) == tok.encode("héllo") == tok.encode(np.str_("héllo"))


def test_an_id_whose_index_changes_the_list_does_no_harm(tok: tokkit.Tokenizer) -> None:
    ids: list[object] = []

    class Evil:
        def __index__(self) -> int:
            ids.clear()
            return 5

    ids += [Evil(), *range(1000, 1500)]
    with contextlib.suppress(TypeError, TokkitError):
        tok.decode(ids)
    assert tok.decode(tok.encode("fine")) == "fine"


def test_text_iterators_that_fail_pass_their_error_on(tok: tokkit.Tokenizer) -> None:
    def texts():
        yield "a"
        raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        tok.encode_batch(texts())
    with pytest.raises(RuntimeError, match="of the caller"):
        tok.decode_batch([1] for _ in texts())


# What a definition must not be: each of these once broke some tokenizer of the field.
BYTES = [bytes([b]) for b in range(256)]


def tokenizer(tokens: list[bytes], model: BPE | None = None, pattern: str | None = "cl100k") -> tokkit.Tokenizer:
    import tokkit
    from tokkit.pretokenizers import patterns

    return tokkit.Tokenizer(Definition(Vocab.from_list(tokens), model or BPE(), Split(patterns.resolve(pattern))))


def test_a_vocabulary_without_every_byte_is_refused_or_says_which_text_it_cannot_encode() -> None:
    with pytest.raises(TokkitError, match=r"0x41|'A'|65|byte"):
        tokenizer([b for b in BYTES if b != b"A"]).encode("ABC")


@pytest.mark.parametrize(
    "rows", [[(97, 98, 300)], [(97, 98, 97)], [(2**31, 98, 256)], [(256, 97, 98)], [(97, 98, 256), (256, 256, 4000)]]
)
def test_a_merge_that_names_no_token_or_the_wrong_one_is_refused(rows: list[tuple[int, int, int]]) -> None:
    with pytest.raises(TokkitError):
        tokenizer([*BYTES, b"ab"], BPE(merges=np.array(rows, dtype=np.uint32), whole_piece=False))


def test_what_a_caller_changes_afterwards_changes_no_tokenizer() -> None:
    import tokkit

    offsets, rows = np.arange(257), np.array([(97, 98, 256)])
    vocab = Vocab(b"".join(BYTES), offsets)
    offsets[100] = 1 << 40
    assert tokkit.Tokenizer(Definition(vocab, BPE(), Split(None))).encode("abc") == [97, 98, 99]
    model = BPE(merges=rows, whole_piece=False)
    rows[:] = 5
    assert tokenizer([*BYTES, b"ab"], model).encode("ab") == [256]
    assert pickle.loads(pickle.dumps(tokenizer([*BYTES, b"ab"], model))).encode("ab") == [256]


def test_ids_in_an_object_that_only_looks_like_an_array_are_decoded_one_by_one() -> None:
    class Like(list[int]):
        dtype, ndim, flags = "int64", 1, None

    assert tokenizer(BYTES).decode(Like([104, 105])) == "hi"


def test_a_special_token_keeps_its_id() -> None:
    tok = tokenizer(BYTES).with_special_tokens({"<x>": 256})
    assert tok.with_special_tokens({"<x>": 256}).special_tokens == {"<x>": 256}
    with pytest.raises(TokkitError, match="already has the id 256"):
        tok.with_special_tokens({"<x>": 257})


def test_merges_of_another_shape_or_type_are_refused() -> None:
    for merges in (np.zeros((2, 2), dtype=np.uint32), np.zeros(3, dtype=np.uint32), np.zeros((1, 3), dtype=np.float64)):
        with pytest.raises((TokkitError, TypeError, ValueError)):
            tokenizer([*BYTES, b"ab"], BPE(merges=merges, whole_piece=False))


def test_a_vocabulary_with_one_token_twice_is_refused_and_the_token_named() -> None:
    with pytest.raises(TokkitError, match=r"ab|256|257"):
        tokenizer([*BYTES, b"ab", b"ab", b"abab"])


def test_an_empty_vocabulary_encodes_the_empty_text_alone() -> None:
    try:
        tok = tokenizer([])
    except TokkitError:
        return
    assert tok.encode("") == []
    with pytest.raises(TokkitError):
        tok.encode("a")


def test_tokens_of_a_megabyte_are_tokens_too() -> None:
    long = b"z" * 1_000_000
    tok = tokenizer([*BYTES, b"zz", long])
    assert tok.encode(long) == [257]
    assert tok.encode(long + b"z") == [256] * 500_000 + [ord("z")]
    assert tok.decode_bytes([257, 257]) == long * 2


@pytest.mark.parametrize("offsets", [[0, 5], [0, 2, 1, 3], [1, 3], [-1, 3], [], [0, 3, 3, 2**62]])
def test_a_packed_vocabulary_with_wrong_offsets_is_refused(offsets: list[int]) -> None:
    with pytest.raises(VocabError):
        Vocab(b"abc", np.array(offsets, dtype=np.int64))


@pytest.mark.parametrize("pattern", ["(", "[a", r"\p{NoSuchThing}", "*", "(?P<a>x)(?P<a>y", "a{2,1}"])
def test_a_pattern_that_does_not_compile_is_an_error_that_shows_it(pattern: str) -> None:
    with pytest.raises(PatternError) as caught:
        tokenizer(BYTES, pattern=pattern)
    assert pattern in str(caught.value) or repr(pattern) in str(caught.value)


@pytest.mark.parametrize("pattern", ["", "x*", "(?=a)", r"\b", "a??", "|a"])
def test_a_pattern_that_matches_the_empty_string_ends(pattern: str) -> None:
    tok = tokenizer(BYTES, pattern=pattern)
    for text in ("", "axxa", "xxxx", "héllo a b"):
        assert b"".join(tok.token_bytes(id_) for id_ in tok.encode(text)) in text.encode() or tok.encode(text)


def test_a_pattern_that_backtracks_for_ever_is_stopped() -> None:
    tok = tokenizer(BYTES, pattern=r"(?:(?:a|aa)+)+(?<!bb)(?!.)\Z|(a+)+$b")
    with limits.using(pattern_seconds=0.2), pytest.raises(PatternError, match="took"):
        tok.encode("a" * 60 + "!" + "a" * 60 + "!")


def test_special_tokens_given_to_a_definition_are_checked() -> None:
    vocab = Vocab.from_list([*BYTES, b"<s>"])
    for special in ({"": 256}, {"<s>": 255}, {"<s>": 999}, {"<s>": -1}):
        with pytest.raises((OptionError, VocabError)):
            Definition(vocab, BPE(), Split(None), special_tokens=special)


@pytest.mark.skipif(not os.environ.get("TOKKIT_LONG"), reason="takes 10 GB and a minute; TOKKIT_LONG=1 runs it")
def test_text_of_more_than_2_gib_is_encoded_whole(tok: tokkit.Tokenizer) -> None:
    unit = "word " * 200
    n = (2**31 + 10**6) // len(unit) + 1
    ids = tok.encode_to_numpy(unit * n)
    per_unit = tok.encode(unit + unit)
    assert tok.decode_bytes(ids[-100:]).endswith(b"word ")
    assert len(ids) >= n * (len(per_unit) // 2 - 1)
    assert sum(len(tok.token_bytes(int(i))) * int(c) for i, c in enumerate(np.bincount(ids)) if c) == len(unit) * n
