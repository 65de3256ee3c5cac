"""vocab.json and merges.txt are read and written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tokkit.definition import Definition
from tokkit.errors import FormatError, VocabError
from tokkit.formats import gpt2
from tokkit.pretokenizers import patterns

Make = Callable[..., Definition]
MERGES = b"#version: 0.2\nh e\nl l\nhe ll\n\xc4\xa0 t\n\xc3\x83 \xc2\xa9\n\xc4\xa0t he\nhell o\n"


@pytest.fixture
def vocab(symbols: dict[str, int]) -> bytes:
    return json.dumps(symbols).encode()


def test_gpt_2_s_own_files_come_back(shared: Path) -> None:
    vocab, merges = ((shared / "vocabs" / "gpt2" / name).read_bytes() for name in ("encoder.json", "vocab.bpe"))
    definition = gpt2.read(vocab, merges)
    assert dict(definition.special_tokens) == {"<|endoftext|>": 50256}
    assert definition.pretokenizer.pattern == patterns.BYTE_LEVEL
    written = gpt2.write(definition)
    assert json.loads(written[0]) == json.loads(vocab)
    assert written[1] == merges


def test_a_definition_comes_back(make: Make, same: Callable[[Definition, Definition], bool]) -> None:
    definition = make()
    written = gpt2.write(definition)
    assert written[1] == MERGES
    assert same(gpt2.read(*written), definition)
    assert same(gpt2.read(*written[:2], special_tokens=definition.special_tokens), definition)
    assert same(gpt2.read(*gpt2.write(make("rank"))), definition)


@pytest.mark.parametrize(
    "merges",
    [MERGES, MERGES[14:], MERGES[:-1], MERGES.replace(b"\n", b"\r\n"), MERGES + b"\n"],
    ids=["version", "no version", "no last line end", "CRLF", "blank last line"],
)
def test_version_line_and_line_ends_may_differ(
    merges: bytes, vocab: bytes, make: Make, same: Callable[..., bool]
) -> None:
    assert same(gpt2.read(vocab, merges), make(special={}))


def test_no_merges_are_no_error(vocab: bytes) -> None:
    assert gpt2.read(vocab, b"#version: 0.2\n").model.merges.shape == (0, 3)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("merges", "reason"),
    [
        (MERGES + b"h  e\n", "merges, line 9: two tokens and one space"),
        (MERGES + b"he\n", "merges, line 9: two tokens and one space"),
        (MERGES + b"h e l\n", "merges, line 9: two tokens and one space"),
        (MERGES + b"\nh e\n", "merges, line 9: two tokens and one space"),
        (MERGES + b"q q\n", "merges, line 9: the result 'qq' is not in vocabulary"),
        (MERGES + b"he zz\n", "merges, line 9: the part 'zz' is not in vocabulary"),
        (MERGES + b"h e\n", "merges, line 9: the pair 'h' 'e' is given twice"),
        (MERGES + b"\xff\n", "line 9: not UTF-8"),
        (MERGES + "\u2028\n".encode(), r"merges, line 9: two tokens and one space are needed, not '\\u2028'"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(merges: bytes, reason: str, vocab: bytes) -> None:
    with pytest.raises(FormatError, match=reason):
        gpt2.read(vocab, merges)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"a": None}, r"vocabulary\['a'\]: the id is null; it must be an integer"),
        ({"a": True}, r"vocabulary\['a'\]: the id is a boolean; it must be an integer"),
        ({"a": 1.0}, r"vocabulary\['a'\]: the id is a number; it must be an integer"),
        ({"a": "1"}, r"vocabulary\['a'\]: the id is a string; it must be an integer"),
        ({"a": -1}, r"vocabulary\['a'\]: the id is -1; it must be from 0 to 2097151"),
        ({"a": 1 << 21}, r"vocabulary\['a'\]: the id is 2097152; it must be from 0 to 2097151"),
        ({"zz": 97}, "vocabulary: 'a' and 'zz' both have id 97"),
        ({"a b": 999}, r"vocabulary\['a b'\]: ' ' .U\+0020. is not one of the 256 byte symbols"),
        ({"\ud800": 999}, r"vocabulary\['\\ud800'\]: .*U\+D800"),
    ],
)
def test_a_wrong_entry_is_named(change: dict[str, object], reason: str, symbols: dict[str, int]) -> None:
    with pytest.raises(FormatError, match=reason):
        gpt2.read(json.dumps({**symbols, **change}).encode(), MERGES)


def test_a_byte_without_a_token_is_named(symbols: dict[str, int]) -> None:
    with pytest.raises(FormatError, match="no token 'Ġ', the symbol of the byte 0x20"):
        gpt2.read(json.dumps({k: v for k, v in symbols.items() if k != "Ġ"}).encode(), MERGES)


@pytest.mark.parametrize("vocab", [b"[]", b"1", b"null", b'"a"', b"{", b"", b'{"a": 1, "a": 2}', b"{}"])
def test_a_vocabulary_that_is_no_table_is_refused(vocab: bytes) -> None:
    with pytest.raises(FormatError):
        gpt2.read(vocab, MERGES)


def test_special_tokens_may_stand_in_the_vocabulary_or_not(symbols: dict[str, int]) -> None:
    inside = json.dumps({**symbols, "<a b>": 300}).encode()
    definition = gpt2.read(inside, MERGES, special_tokens={"<a b>": 300, "<c>": 301})
    assert definition.vocab[300] == b"<a b>"
    assert definition.vocab[301] == b"<c>"
    with pytest.raises(FormatError, match="the special token '<a b>' has the id 300, not 302"):
        gpt2.read(inside, MERGES, special_tokens={"<a b>": 302})
    with pytest.raises(VocabError, match="belongs to b'h'"):
        gpt2.read(inside, MERGES, special_tokens={"<a b>": 300, "<c>": 104})


def test_special_tokens_of_any_text_come_back(make: Make, same: Callable[..., bool]) -> None:
    special = {"东京": 263, "<my token>": 264, '\n\t"\\': 265, " ": 266, "Ġ the": 267, "\ufeff": 268, "🦜": 300}
    definition = make(special=special)
    vocab, merges, added = gpt2.write(definition)
    assert json.loads(added) == special
    assert json.loads(vocab)["<my token>"] == 264
    assert same(gpt2.read(vocab, merges, added), definition)
    absent = json.dumps({text: id_ for text, id_ in json.loads(vocab).items() if text not in special}).encode()
    assert same(gpt2.read(absent, merges, added), definition)


def test_special_tokens_that_are_given_stand_in_place_of_added_ones(vocab: bytes) -> None:
    added = b'{"<a b>": 300}'
    assert dict(gpt2.read(vocab, MERGES, added).special_tokens) == {"<a b>": 300}
    assert dict(gpt2.read(vocab, MERGES, added, special_tokens={"<c>": 301}).special_tokens) == {"<c>": 301}
    assert dict(gpt2.read(vocab, MERGES, b"not looked at", special_tokens={}).special_tokens) == {}


def test_added_tokens_stand_beside_those_of_a_published_vocabulary(shared: Path) -> None:
    vocab, merges = ((shared / "vocabs" / "gpt2" / name).read_bytes() for name in ("encoder.json", "vocab.bpe"))
    for data in (vocab, b"\xef\xbb\xbf" + vocab):
        definition = gpt2.read(data, merges, b'{"<pad>": 50257}')
        assert dict(definition.special_tokens) == {"<|endoftext|>": 50256, "<pad>": 50257}
    with pytest.raises(FormatError, match=r"added_tokens\.json\['<pad>'\]: its id, 50256, is that of '<\|endoftext"):
        gpt2.read(vocab, merges, b'{"<pad>": 50256}')


@pytest.mark.parametrize(
    ("added", "reason"),
    [
        (b"", r"^added_tokens\.json: line 1, column 1: not JSON"),
        (b'{"<a>": 300', r"^added_tokens\.json: line 1, column 12: not JSON"),
        (b'{"<\xff>": 300', r"^added_tokens\.json: line 1: not UTF-8"),
        (b"[]", r"^added_tokens\.json: an object of token to id is needed, not an array"),
        (b'{"<a>": "300"}', r"^added_tokens\.json\['<a>'\]: the id is a string; it must be an integer"),
        (b'{"<a>": true}', r"^added_tokens\.json\['<a>'\]: the id is a boolean; it must be an integer"),
        (b'{"<a>": -1}', r"^added_tokens\.json\['<a>'\]: the id is .*it must be from 0"),
        (b'{"<a>": 2097152}', r"^added_tokens\.json\['<a>'\]: the id is .*it must be from 0"),
        (b'{"<a>": 300, "<b>": 300}', r"^added_tokens\.json: '<a>' and '<b>' both have id 300"),
        (b'{"<a>": 300, "<a>": 301}', r"^added_tokens\.json: the key '<a>' is given twice"),
        (b'{"": 300}', r"^added_tokens\.json\[''\]: a token cannot have this text"),
        (b'{"\\ud800": 300}', r"^added_tokens\.json\['\\ud800'\]: a token cannot have this text"),
        (b'{"<a>": 104}', r"^added_tokens\.json\['<a>'\]: its id, 104, is that of 'h' in the vocabulary"),
        (b'{"he": 300}', r"^added_tokens\.json\['he'\]: its id is 300 here, and 256 in the vocabulary"),
        (b'{"he": 256}', "line 2: the result 'he' is a special token"),
    ],
)
def test_a_wrong_added_token_is_named_with_its_file(added: bytes, reason: str, vocab: bytes) -> None:
    with pytest.raises(FormatError, match=reason):
        gpt2.read(vocab, MERGES, added)


def test_a_byte_order_mark_before_either_file_is_passed_over(
    vocab: bytes, make: Make, same: Callable[..., bool]
) -> None:
    mark = b"\xef\xbb\xbf"
    assert same(gpt2.read(mark + vocab, mark + MERGES, mark + b"{}"), make(special={}))
    assert same(gpt2.read(mark + vocab, mark + MERGES[14:]), make(special={}))


def test_a_special_token_that_merges_use_is_refused(vocab: bytes, symbols: dict[str, int]) -> None:
    with pytest.raises(FormatError, match="line 2: the result 'he' is a special token"):
        gpt2.read(vocab, MERGES, special_tokens={"he": symbols["he"]})
    with pytest.raises(FormatError, match="the special token 'h' is also the symbol of the byte 0x68"):
        gpt2.read(vocab, MERGES, special_tokens={"h": symbols["h"]})


def test_what_the_two_files_cannot_say_is_refused(make: Make) -> None:
    with pytest.raises(FormatError, match=r"GPT-2's pattern.*tokenizer\.json"):
        gpt2.write(make(pattern=patterns.CL100K))
    assert gpt2.write(make(pattern=patterns.R50K))
    unreachable = [*[*make().vocab][:263], b"xyz"]
    for kind in ("rank", "merges"):
        with pytest.raises(FormatError, match="which is a token skips merging"):
            gpt2.write(make(kind, tokens=unreachable, special={}, whole_piece=True))
    assert gpt2.write(make(whole_piece=True)) == gpt2.write(make())


def test_tokenizers_reads_the_files_and_gives_equal_ids(make: Make, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    vocab, merges, _ = gpt2.write(make())
    (tmp_path / "vocab.json").write_bytes(vocab)
    (tmp_path / "merges.txt").write_bytes(merges)
    model = tokenizers.models.BPE.from_file(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    theirs = tokenizers.Tokenizer(model)
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert theirs.encode("hello thé").ids == [262, 259, 104, 260]
    (tmp_path / "theirs").mkdir()
    model.save(str(tmp_path / "theirs"))
    assert (tmp_path / "theirs" / "merges.txt").read_bytes() == merges
    assert (tmp_path / "theirs" / "vocab.json").read_bytes() == vocab
