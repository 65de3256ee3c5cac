"""Tables of JSON read in C hold what Python's parser makes of the same bytes."""

from __future__ import annotations

import json
import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from tokkit import byte_symbols
from tokkit._core import files
from tokkit._core.token_tables import TokenIndex, gather, translate
from tokkit.errors import FormatError
from tokkit.files import decimals, strict_json
from tokkit.formats import tables, tokenizer_json
from tokkit.formats.tables import Merges, Table
from tokkit.vocab import MAX_ID

TOKENS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.text('"\\/\b\n\0\x1f é▁🦜', max_size=4)
SCORES = st.floats(-30, 30) | st.integers(-(10**12), 10**12) | st.sampled_from([0.0, -0.0, 1e-7, -5e-324, 1e300])


def models() -> st.SearchStrategy[dict[str, Any]]:
    """Objects that have some of the tables, and other things."""
    ids = st.lists(TOKENS, unique=True, max_size=8).flatmap(
        lambda tokens: st.permutations(range(len(tokens) + 3)).map(lambda ids: dict(zip(tokens, ids, strict=False)))
    )
    scores = st.lists(st.tuples(TOKENS, SCORES).map(list), max_size=8, unique_by=lambda item: item[0])
    merges = st.lists(TOKENS, max_size=8) | st.lists(st.tuples(TOKENS, TOKENS).map(list), max_size=8)
    others = st.dictionaries(TOKENS, st.none() | st.booleans() | SCORES | TOKENS | ids | merges, max_size=3)
    return st.fixed_dictionaries({"vocab": ids | scores}, optional={"merges": merges, "more": others, "type": TOKENS})


def plain(value: Any) -> Any:
    """Return what `tables.loads` gave as `strict_json.loads` would."""
    model = value["model"]
    if isinstance(table := model.get("vocab"), Table):
        ids = table.as_dict()
        assert len(ids) == len(table)
        if table.scores is not None:
            model["vocab"] = [list(item) for item in zip(ids, table.scores.tolist(), strict=True)]
        else:
            model["vocab"] = ids
    if isinstance(merges := model.get("merges"), Merges):
        strings = merges.text.decode().split("\0") if merges.n else []
        model["merges"] = strings if merges.between else [list(pair) for pair in zip(*[iter(strings)] * 2, strict=True)]
    return value


def spelt(value: object) -> str:
    """Return JSON in which floats are apart from integers of equal size, and -0.0 from 0.0."""
    return json.dumps(value, sort_keys=True)


def as_floats(value: Any) -> Any:
    """Return parsed JSON with the scores of a vocabulary as floats, which is what they are for."""
    if isinstance(vocab := value["model"].get("vocab"), list):
        value["model"]["vocab"] = [[token, float(score)] for token, score in vocab]
    return value


@settings(max_examples=300 if LONG else 100)
@given(models(), st.booleans(), st.sampled_from([None, 0, 2, 9, "\t"]), st.sampled_from(["", "\ufeff"]))
def test_tables_hold_what_json_has(model: dict[str, Any], ascii: bool, indent: Any, mark: str) -> None:
    text = json.dumps({"version": "1.0", "model": model, "end": [{}]}, ensure_ascii=ascii, indent=indent)
    data = (mark + text).encode()
    made = tables.loads(data)
    strings = [part for merge in model.get("merges", []) for part in ([merge] if isinstance(merge, str) else merge)]
    odd = any("\0" in string for string in strings)
    if isinstance(model["vocab"], list):  # numbers that take other than 19 digits and a moderate power
        spellings = [json.dumps(score).lstrip("-") for _, score in model["vocab"]]
        odd |= any(len(s.replace(".", "").partition("e")[0]) > 17 or "e" in s for s in spellings)
    assert odd or made is not None
    if made is not None:
        assert spelt(plain(made)) == spelt(as_floats(strict_json.loads(data)))


SMALL: dict[str, Any] = {
    "version": "1.0",
    "added_tokens": [{"id": 0, "content": '"model": {"vocab": ['}],
    "model": {
        "type": "BPE",
        "vocab": {"a": 0, 'b"\\': 1, "ab\u00e9": 12},
        "merges": ["a b", "ab \u00e9"],
        "unk": -1.5e3,
    },
}
SCORED: dict[str, Any] = {"model": {"unk_id": 0, "vocab": [["<unk>", 0], ["\u2581a\U0001f99c", -2.5], ["b", -12.0625]]}}
PAIRS: dict[str, Any] = {"model": {"merges": [["a", "b "], ["ab", "c"]], "vocab": {}}, "model2": {"vocab": {"a": 1}}}


@pytest.mark.parametrize("value", [SMALL, SCORED, PAIRS])
def test_spoilt_bytes_are_never_read_as_anything_that_json_does_not_say(value: dict[str, Any]) -> None:
    rng = random.Random(4)
    texts = [json.dumps(value, ensure_ascii=ascii, indent=indent).encode() for ascii in (0, 1) for indent in (None, 10)]
    pieces = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"1", b"e", b"-", b".", b"null", b"\0", b"\xff"]
    pieces += [b"\xc3", b"\\ud800", b"\\udc00", b"\\u00e9", b"\n", b" ", b'"a": 0', b'"vocab": {}', b'"model": {}']
    packed = 0
    for _ in range(6000):
        data = bytearray(rng.choice(texts))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.choice([0, 0, 1, 1, 5])] = rng.choice([*pieces, b"", b"", data[at - 9 : at]])
        if rng.random() < 0.1:
            del data[rng.randrange(len(data) + 1) :]
        try:
            made = tables.loads(bytes(data))
        except FormatError:
            made = None
        if made is not None:  # or the error, and all that is unusual, is left to who reads every byte
            packed += 1
            assert spelt(plain(made)) == spelt(as_floats(strict_json.loads(bytes(data)))), bytes(data)
    assert packed > 200


@pytest.mark.parametrize(
    "model",
    [
        '{"vocab": {"a": 0, "a": 1}}',
        '{"vocab": {"a": 0, "b": 0}}',
        '{"vocab": {"a": 01}}',
        '{"vocab": {"a": -1}}',
        '{"vocab": {"a": 1.0}}',
        '{"vocab": {"a": true}}',
        f'{{"vocab": {{"a": {MAX_ID + 1}}}}}',
        '{"vocab": {"a": 4294967296}}',
        '{"vocab": {"a": 0,}}',
        '{"vocab": {"\\ud800": 0}}',
        '{"vocab": {"\\udc00\\ud800": 0}}',
        '{"vocab": {"\\ud800\\u0041": 0}}',
        '{"vocab": {"\\u00g0": 0}}',
        '{"vocab": {"\\x": 0}}',
        '{"vocab": {"\n": 0}}',
        '{"vocab": {"a": 0}, "vocab": {"a": 0}}',
        '{"vocab": [["a", 0], ["a", 1]]}',
        '{"vocab": [["a", 0, 1]]}',
        '{"vocab": [["a"]]}',
        '{"vocab": [["a", +1]]}',
        '{"vocab": [["a", .5]]}',
        '{"vocab": [["a", 5.]]}',
        '{"vocab": [["a", 1e]]}',
        '{"vocab": [["a", -]]}',
        '{"vocab": [["a", NaN]]}',
        '{"vocab": ["a"]}',
        '{"vocab": null}',
        '{"vocab": {}, "merges": {}}',
        '{"merges": ["a b", ["a", "b"]]}',
        '{"merges": [["a", "b", "c"]]}',
        '{"merges": [["a"]]}',
        '{"merges": [1]}',
        '{"merges": ["a\\u0000b"]}',
        '{"vocabulary": {"a": 0}}',
        "[]",
    ],
)
def test_what_is_unusual_is_left_to_who_reads_all(model: str) -> None:
    assert tables.loads(f'{{"model": {model}}}'.encode()) is None


@pytest.mark.parametrize("name", ["gpt2", "roberta-base", "mistral-v1", "t5", "bert-base-uncased"])
def test_published_files_are_read_in_c_and_say_what_they_say_otherwise(name: str, shared: Path) -> None:
    data = (shared / "vocabs" / name / "tokenizer.json").read_bytes()
    made, right = tokenizer_json.read_packed(data), tokenizer_json.from_json(strict_json.loads(data))
    assert made is not None
    assert made.vocab == right.vocab
    assert (made.added_tokens, made.added_ids) == (right.added_tokens, right.added_ids)
    for table in ("merges", "scores"):
        assert np.array_equal(getattr(made.model, table, None), getattr(right.model, table, None))


def test_bytes_that_are_no_utf_8_are_no_token() -> None:
    for spoilt in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"):
        assert tables.loads(b'{"model": {"vocab": {"a' + spoilt + b'": 0}}}') is None


def test_every_prefix_of_a_file_is_refused_without_reading_past_it() -> None:
    data = json.dumps(SMALL, indent=1).encode()
    for n in range(len(data)):
        assert files.find_tables(data[:n]) is None


@settings(max_examples=3000 if LONG else 100)
@given(st.from_regex(r"-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_scores_are_decimals_as_tokenizers_reads_them(text: str) -> None:
    made = tables.loads(f'{{"model": {{"vocab": [["a", {text}]]}}}}'.encode())
    try:
        right = decimals.read(text) if set(text) & set(".eE") else float(int(text))
    except ValueError:
        right = math.inf
    if made is None:
        assert len(text) > 19 or "e" in text.lower()
    else:
        assert made["model"]["vocab"].scores.tobytes() == np.float64(right).tobytes()


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=3), max_size=40), st.lists(st.binary(max_size=3), max_size=10), st.randoms())
def test_an_index_finds_the_first_of_tokens_that_are_alike(
    tokens: list[bytes], others: list[bytes], rng: random.Random
) -> None:
    blob, offsets = b"".join(tokens), np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    index = TokenIndex(blob, offsets)
    for token in [*tokens, *others]:
        assert index.find(token) == (tokens.index(token) if token and token in tokens else -1)
    twice = [k for k, token in enumerate(tokens) if token and token in tokens[:k]]
    assert index.twice == (twice[0] if twice else -1)
    numbers = [rng.randrange(len(tokens)) for _ in range(20 if tokens else 0)]
    gathered, ends = gather(blob, offsets, np.array(numbers, dtype=np.int64))
    assert [gathered[a:b] for a, b in pairwise(ends.tolist())] == [tokens[k] for k in numbers]


@settings(max_examples=100)
@given(st.lists(st.text(byte_symbols.SYMBOLS, max_size=4) | st.text("aĠ\u0144\u07ff\u0800\U0001f99c\x00 ", max_size=2)))
def test_symbols_become_the_bytes_that_they_stand_for(tokens: list[str]) -> None:
    blob = "".join(tokens).encode()
    offsets = np.cumsum([0, *(len(token.encode()) for token in tokens)], dtype=np.int64)
    made = translate(blob, offsets, byte_symbols.BYTE_OF)
    if not byte_symbols.is_symbols("".join(tokens)):
        assert made is None
    else:
        assert made is not None
        assert made[0] == byte_symbols.to_bytes("".join(tokens))
        assert np.diff(made[1]).tolist() == list(map(len, tokens))


def test_tokens_come_in_the_order_of_their_ids() -> None:
    table = Table.of({"é": 4, "a": 0, "bb": 7, "\ud800": 2})
    (blob, ends), ids = table.by_id(without=["a", "absent"])
    assert ids.tolist() == [2, 4, 7]
    assert (blob, ends.tolist()) == (b"\xed\xa0\x80\xc3\xa9bb", [0, 3, 5, 7])
    assert tables.spread(ends, ids).tolist() == [0, 0, 0, 3, 3, 5, 5, 5, 7]
    assert (table.get("bb", -1), table.get("b", -1), len(table), table.is_text) == (7, -1, 4, False)
    assert table.as_dict() == {"é": 4, "a": 0, "bb": 7, "\ud800": 2}


def test_merges_are_found_by_ids_or_not_at_all() -> None:
    table = Table.of({"a": 5, "b": 1, "ab": 3, "##b": 2})
    found = table.find_merges(Merges.of(["a b"]))
    assert found is not None
    assert found.tolist() == [[5, 1, 3]]
    prefixed = table.find_merges(Merges.of([["a", "##b"]]), n_prefix=2)
    assert prefixed is not None
    assert prefixed.tolist() == [[5, 2, 3]]
    for wrong in (["a b", "b a"], ["ab"], ["a  b"], ["a c"], [" "], [["a", ""]]):
        assert table.find_merges(Merges.of(wrong)) is None
    for odd in (["a b", ["a", "b"]], [["a"]], [1], ["a\0b"], [["\ud800", "a"]], [["a", 1]]):
        assert Merges.of(odd) is None
    nothing = table.find_merges(Merges.of([]))
    assert nothing is not None
    assert nothing.shape == (0, 3)
