"""Rank files are read and written byte for byte, and every wrong line is refused."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import PUBLISHED
from tokkit._core.rank_file import MAX_RANK, parse_ranks
from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.formats import tiktoken
from tokkit.pretokenizers import patterns
from tokkit.tokenizer import Tokenizer

BYTES = b"".join(b"%b %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
Make = Callable[..., Definition]


def naive(data: bytes) -> dict[int, bytes]:
    """Rank → token, as the file format reads."""
    fields = [line.split() for line in data.splitlines() if line]
    return {int(rank): base64.b64decode(token) for token, rank in fields}


def tokens(data: bytes) -> dict[int, bytes]:
    blob, offsets, _ = parse_ranks(data)
    return {i: t for i in range(len(offsets) - 1) if (t := blob[offsets[i] : offsets[i + 1]])}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_come_back_byte_for_byte(name: str, shared: Path) -> None:
    data = (shared / "vocabs" / f"{name}.tiktoken").read_bytes()
    definition = tiktoken.read(data)
    assert tokens(data) == naive(data)
    assert tiktoken.write(definition) == data
    assert definition.name == name
    assert definition.model.merges is None


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_known_of_published_files_is_what_tiktoken_knows(
    name: str, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = pytest.importorskip("tiktoken_ext.openai_public")
    monkeypatch.setattr(registry, "load_tiktoken_bpe", lambda *_, **__: {})
    known = getattr(registry, name)()
    definition = tiktoken.read((shared / "vocabs" / f"{name}.tiktoken").read_bytes())
    assert definition.special_tokens == known["special_tokens"]
    assert definition.pretokenizer.pattern == known["pat_str"]


def test_lines_may_be_in_any_order_with_gaps_blank_lines_and_either_line_end() -> None:
    lines = [*BYTES.splitlines(), b"YWI= 300", b"YWJj 299"]
    random.Random(1).shuffle(lines)
    shuffled = b"\r\n".join(lines).replace(b"\n", b"\n\n", 3) + b"\n \n"
    assert tokens(shuffled) == {**{byte: bytes([byte]) for byte in range(256)}, 300: b"ab", 299: b"abc"}
    definition = tiktoken.read(shuffled, pattern="none")
    assert tiktoken.write(definition) == BYTES + b"YWJj 299\nYWI= 300\n"
    assert definition.vocab.n_ids == 301
    assert 298 not in definition.vocab


def test_base64_of_every_length_is_read() -> None:
    rng = random.Random(2)
    made = {rank: rng.randbytes(rank + 1) for rank in range(3, 200)}
    data = b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in made.items())
    assert tokens(data) == made
    assert tokens(data[:-1]) == made
    assert tokens(b"") == {}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"YWI=", "the rank is missing"),
        (b"YWI= ", "the rank is missing"),
        (b"YWI 300", "not valid base64"),
        (b"YW=I 300", "not valid base64"),
        (b"YW==YWI= 300", "not valid base64"),
        (b"Y=== 300", "not valid base64"),
        (b"==== 300", "not valid base64"),
        (b"== 300", "not valid base64"),
        (b"=\t\t", "the rank is missing"),
        (b"= 97", "rank is on an earlier line"),
        (b"= 300\n= 301", "token is on an earlier line"),
        (b"YWJ= 300", "not valid base64"),
        (b"YR== 300", "not valid base64"),
        (b"YW\xff= 300", "not valid base64"),
        (b"Y\x00I= 300", "not valid base64"),
        ("YWé= 300".encode(), "not valid base64"),
        (b"{} 300", "not valid base64"),
        (b" 300", "token is empty"),
        (b"YWI= -1", "must be a decimal number"),
        (b"YWI= 3e2", "must be a decimal number"),
        (b"YWI= 300 1", "must be a decimal number"),
        (b"YWI= 1_0", "must be a decimal number"),
        (b"YWI= " + b"9" * 5000, f"above {MAX_RANK}"),
        (b"YWI= %d" % (MAX_RANK + 1), f"above {MAX_RANK}"),
        (b"YWI= 17", "rank is on an earlier line"),
        (b"YQ== 300", "token is on an earlier line"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_wrong_line_is_named_with_its_number(line: bytes, reason: str, end: bytes) -> None:
    data = BYTES.replace(b"\n", end) + end + line + end + b"YWJj 400" + end
    with pytest.raises(FormatError, match=rf"^line {258 + line.count(10)}: .*{reason}"):
        tiktoken.read(data, pattern="gpt2")


def test_the_greatest_rank_is_read() -> None:
    assert tokens(b"YWI= %d" % MAX_RANK) == {MAX_RANK: b"ab"}


@pytest.mark.parametrize("data", [b"", b"\n\n", BYTES[6:], BYTES.replace(b"YQ== 97\n", b"")])
def test_a_byte_without_a_token_is_named(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"no line has the byte 0x(00|61) as its token"):
        tiktoken.read(data, pattern="gpt2")


@pytest.mark.parametrize("rank", [256, 300])
def test_an_empty_token_decodes_to_nothing_and_is_written_again(rank: int) -> None:
    data = BYTES + (b"= 256\nYWI= 257\n" if rank == 256 else b"YWI= 257\n= 300\n")
    definition = tiktoken.read(data, pattern="gpt2", special_tokens={"<|end|>": 301})
    tok = Tokenizer(definition)
    assert (tok.vocab.empty, tok.vocab[b""], tok.vocab[rank], tok.n_ids) == (rank, rank, b"", 302)
    assert tok.encode("ab<|end|>", special="all") == [257, 301]
    assert tok.decode([257, rank, 301]) == "ab<|end|>"
    assert tok.token_bytes(rank) == b""
    assert tiktoken.write(definition) == data


def test_an_empty_token_is_refused_where_a_match_may_be_empty() -> None:
    data = BYTES + b"= 256\n"
    for pattern in (r"\w*", "", r"(?=b)|\w", r"(?=ab)|c"):
        with pytest.raises(OptionError, match=r"id 256 is empty, and the pattern .* may match the empty"):
            tiktoken.read(data, pattern=pattern)
    for pattern in (*patterns.NAMES, "none", r"\w+|\W"):
        assert tiktoken.read(data, pattern=pattern).vocab.empty == 256
    with pytest.raises(VocabError, match="the empty token has the id 256"):
        tiktoken.read(data, pattern="gpt2", special_tokens={"<|end|>": 256})


def test_an_unknown_file_needs_a_pattern() -> None:
    with pytest.raises(OptionError, match=r"give pattern=, one of gpt2, .*cl100k.*none"):
        tiktoken.read(BYTES)
    assert tiktoken.read(BYTES, pattern="cl100k").pretokenizer.pattern == patterns.CL100K
    assert tiktoken.read(BYTES, pattern="none").pretokenizer.pattern is None
    assert tiktoken.read(BYTES, pattern=r"\w+|\W").pretokenizer.pattern == r"\w+|\W"


def test_pattern_and_special_tokens_of_a_published_file_can_be_overridden(shared: Path) -> None:
    data = (shared / "vocabs" / "r50k_base.tiktoken").read_bytes()
    definition = tiktoken.read(data, pattern="o200k", special_tokens={"<|x|>": 60000})
    assert definition.pretokenizer.pattern == patterns.O200K
    assert dict(definition.special_tokens) == {"<|x|>": 60000}
    assert definition.name == ""
    assert definition.vocab[60000] == b"<|x|>"
    assert definition.vocab[50255] == tiktoken.read(data).vocab[50255]
    assert dict(tiktoken.read(data, special_tokens={}).special_tokens) == {}


@pytest.mark.parametrize(
    ("special", "error", "reason"),
    [
        ({"": 300}, OptionError, "at least one character"),
        ({"x\ud800": 300}, OptionError, "surrogate"),
        ({"<x>": -1}, OptionError, "an id from 0"),
        ({"<x>": True}, OptionError, "an id from 0"),
        ({"<x>": 1.0}, OptionError, "an id from 0"),
        ({"<x>": 1 << 40}, OptionError, "an id from 0"),
        ({3: 300}, OptionError, "a special token is 3"),
        (["<x>"], OptionError, "they must be a mapping of text to id"),
        ({"<x>": 300, "<y>": 300}, VocabError, "share one id"),
        ({"<x>": 97}, VocabError, "belongs to b'a'"),
    ],
)
def test_special_tokens_that_cannot_work_are_refused(special: object, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        tiktoken.read(BYTES, pattern="gpt2", special_tokens=special)  # type: ignore[arg-type]


def test_a_definition_comes_back(make: Make, same: Callable[[Definition, Definition], bool]) -> None:
    definition = make("rank")
    data = tiktoken.write(definition)
    again = tiktoken.read(data, pattern="gpt2", special_tokens=definition.special_tokens)
    assert same(again, definition)
    # The seven merges are in the order of their ids and each is the canonical pair: ranks say the same.
    assert tiktoken.write(make("merges")) == data


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("order", "ranks would make b'he' first"),
        ("pair", "ranks would make b'hell'"),
        ("missing", r"no merge makes b'hello'"),
        ("special", "merge 7 has an id without a token"),
    ],
)
def test_a_merge_list_that_ranks_cannot_say_is_refused(change: str, reason: str, make: Make) -> None:
    base = make()
    assert base.model.merges is not None
    merges = [tuple(merge) for merge in base.model.merges.tolist()]
    options: dict[str, object] = {}
    if change == "order":
        merges[0], merges[1] = merges[1], merges[0]
    elif change == "pair":  # "hell" as "h" + "ell", where "he" and "ll" merge first
        merges[2] = (ord("h"), 265, 258)
        options["tokens"] = [*[*base.vocab][:263], b"", b"", b"ell"]
        options["special"] = {}
    elif change == "missing":
        merges.pop()
    else:
        merges[-1] = (*merges[-1][:2], 262)
        merges.append((ord("a"), ord("b"), 263))
    with pytest.raises((FormatError, VocabError), match=reason):
        tiktoken.write(make(merges=merges, **options))


def test_a_token_that_is_only_a_whole_piece_may_stand_in_a_rank_file(make: Make) -> None:
    vocabulary = [*[*make().vocab][:263], b"xyz"]
    definition = make(tokens=vocabulary, special={}, whole_piece=True)
    assert b"eHl6 263\n" in tiktoken.write(definition)
    with pytest.raises(FormatError, match=r"no merge makes b'xyz'"):
        # Without that rule nothing makes the token, while ranks would.
        tiktoken.write(make(tokens=vocabulary, special={}, whole_piece=False))


def test_a_split_that_keeps_unmatched_text_is_refused(make: Make) -> None:
    with pytest.raises(FormatError, match="keeps unmatched text"):
        tiktoken.write(make("rank", pattern=r"\w+", keep_unmatched=True))
    assert tiktoken.write(make("rank", pattern=r"\w+"))
    assert tiktoken.write(make("rank", pattern=patterns.CL100K, keep_unmatched=True))


def test_a_vocabulary_that_no_rank_file_can_hold_is_refused(make: Make) -> None:
    with pytest.raises(FormatError, match="the ids 256 and 257 have the same bytes"):
        tiktoken.write(make("rank", tokens=[*map(bytes, np.arange(256, dtype=np.uint8)[:, None]), b"ab", b"ab"]))
    with pytest.raises(FormatError, match="the byte 0x61 has no token"):
        tiktoken.write(make("rank", tokens=[bytes([b]) for b in range(256) if b != ord("a")], special={}))
