"""Tables written in C are what Python's json, and the slow writer of decimals, make of the same data."""

from __future__ import annotations

import base64
import json
import random
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG
from tokkit._core.lines import lines, piece_fields, rank_lines, spell_bytes
from tokkit._core.writing import JsonWriter, first_not_joined
from tokkit.byte_symbols import SYMBOLS, to_symbols
from tokkit.files import decimals, protobuf
from tokkit.formats import table_text
from tokkit.formats.table_text import INDENTED, LINES, ONE_LINE, Style, written
from tokkit.formats.tables import Merges, Table

TOKENS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text(
    '"\\/\b\n\0\x1f\x7f\u2028 é▁🦜', max_size=4
)
FLOATS = st.floats(-30, 30) | st.floats(-1e300, 1e300) | st.integers(-99, 99).map(lambda n: n / 8)
STYLES = pytest.mark.parametrize("style", [LINES, INDENTED, ONE_LINE])


def dumped(value: object, style: Style) -> str:
    """Return what json writes for a table of the model, which is at the second level of a file."""
    indent, separators = (2, (",", ": ")) if style is INDENTED else (None, (",", ":"))
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return text.replace("\n", "\n    ") if value else text


@STYLES
@given(st.dictionaries(TOKENS, st.integers(0, 10**12), max_size=8))
def test_ids_are_written_as_json_writes_them(style: Style, ids: dict[str, int]) -> None:
    text = written(table_text.ids(Table.of(ids), style)).decode()
    assert json.loads(text) == ids
    if style is not LINES:
        assert text == dumped(ids, style)


@STYLES
@given(st.lists(st.tuples(TOKENS, FLOATS).map(list), max_size=8))
def test_scores_without_reading_back_are_written_as_json_writes_them(style: Style, scored: list[list[object]]) -> None:
    text = written(table_text.scores(Table.of_scores(scored), style, read_back=False)).decode()
    assert [[token, repr(score)] for token, score in json.loads(text)] == [[t, repr(score)] for t, score in scored]
    if style is not LINES:
        assert text == dumped(scored, style)


@STYLES
@given(st.lists(st.tuples(TOKENS, TOKENS).map(list), max_size=8))
def test_merges_are_written_as_json_writes_them(style: Style, pairs: list[list[str]]) -> None:
    tokens = Table.of_scores([[token, 0.0] for pair in pairs for token in pair])
    numbers = np.array([[2 * k, 2 * k + 1, 0] for k in range(len(pairs))], dtype=np.uint32).reshape(-1, 3)
    made = [table_text.merges_of((tokens.blob, tokens.offsets), numbers, style, as_text=False)]
    if (packed := Merges.of(pairs)) is not None:
        made.append(table_text.merges(packed, style))
        lines = "".join(f"{left} {right}\n" for left, right in pairs)
        assert table_text.merge_lines(packed).decode() == lines
    for text in map(bytes.decode, map(written, made)):
        assert json.loads(text) == pairs
        if style is not LINES:
            assert text == dumped(pairs, style)
    as_text = written(table_text.merges_of((tokens.blob, tokens.offsets), numbers, style, as_text=True))
    assert json.loads(as_text) == [" ".join(pair) for pair in pairs]


def test_added_tokens_are_written_as_json_writes_them() -> None:
    contents = ["a", 'q"\\', "\u2028\n", "🦜"]
    flags = [[bool(k >> bit & 1) for bit in range(5)] for k in (0, 1, 21, 31)]
    expected = [
        {"id": k, "content": content, **dict(zip(table_text.FLAGS, marks, strict=True))}
        for k, content, marks in zip(range(7, 11), contents, flags, strict=True)
    ]
    for style in (LINES, INDENTED, ONE_LINE):
        text = written(table_text.added_tokens(range(7, 11), contents, flags, style)).decode()
        indent = None if style is ONE_LINE else 2
        json_text = json.dumps(
            expected, ensure_ascii=False, indent=indent, separators=(",", ": " if indent else ":")
        ).replace("\n", "\n  ")
        assert text == json_text
        assert written(table_text.added_tokens([], [], [], style)) == b"[]"


def spelt(values: list[float], *, read_back: bool) -> list[str]:
    scored = [["", value] for value in values]
    text = written(table_text.scores(Table.of_scores(scored), ONE_LINE, read_back=read_back)).decode()
    return [entry.rpartition(",")[2] for entry in text[1:-2].split("],")]


@settings(max_examples=300)
@given(st.lists(FLOATS, min_size=1, max_size=8))
def test_floats_are_spelt_as_the_slow_writer_spells_them(values: list[float]) -> None:
    assert spelt(values, read_back=True) == [decimals.write(value) if value else repr(value) for value in values]
    assert spelt(values, read_back=False) == list(map(repr, values))


def test_floats_of_all_sizes_and_of_single_precision_are_spelt_as_the_slow_writer_spells_them() -> None:
    rng = random.Random(11)
    values = [rng.uniform(-20, 0) for _ in range(3000 * (20 if LONG else 1))]
    values += [struct.unpack("<f", struct.pack("<f", value))[0] for value in values]  # the scores of models
    values += [10 ** rng.uniform(-3, 17) for _ in range(3000)]
    values += [float(rng.randrange(1 << 53)) / 2.0 ** rng.randrange(60) for _ in range(3000)]
    values += [sign * 2.0**k for k in range(-70, 70) for sign in (1, -1)]
    for k in range(-6, 19):
        values += [10.0**k, np.nextafter(10.0**k, 0).item(), np.nextafter(10.0**k, 1e300).item()]
    assert spelt(values, read_back=True) == list(map(decimals.write, values))
    assert spelt(values, read_back=False) == list(map(repr, values))


def test_bytes_are_spelt_in_symbols_and_marked_tokens_are_not() -> None:
    tokens = [bytes([byte]) for byte in range(256)] + ["é🦜".encode(), b"", b"a b"]
    offsets = np.cumsum([0, *map(len, tokens)])
    marks = np.zeros(len(tokens), dtype=np.uint8)
    marks[256] = 1
    blob, ends = spell_bytes(b"".join(tokens), offsets, marks, SYMBOLS)
    found = [blob[a:b].decode() for a, b in pairwise(ends)]
    assert found == [*SYMBOLS, "é🦜", "", to_symbols(b"a b")]


def test_merges_that_do_not_join_are_found() -> None:
    blob, offsets = b"ababba", np.array([0, 1, 2, 4, 6, 6])
    merges = np.array([[0, 1, 2], [1, 0, 3], [1, 0, 2]], dtype=np.uint32)
    assert first_not_joined(blob, offsets, merges) == 2
    assert first_not_joined(blob, offsets, merges[:2]) == -1
    assert first_not_joined(blob, offsets, np.array([[0, 4, 0]], dtype=np.uint32)) == 0
    assert first_not_joined(blob, offsets, merges[:0]) == -1


def test_a_writer_refuses_tables_that_do_not_fit() -> None:
    out, offsets, layout = JsonWriter(), np.array([0, 1]), (b",", b"", b":", b"")
    with pytest.raises(IndexError, match="offsets must be from 0 to 0"):
        out.ids(b"", offsets, np.array([1]), layout)
    with pytest.raises(IndexError, match="an id for each token"):
        out.ids(b"a", offsets, np.array([1, 2]), layout)
    with pytest.raises(IndexError, match="merge 0 is of a token that does not exist"):
        out.merges_of(b"a", offsets, np.array([[0, 1, 0]], dtype=np.uint32), layout)
    with pytest.raises(IndexError, match="a score for each token"):
        out.scores(b"a", offsets, np.zeros(2), layout)
    assert out.take() == b""


@given(st.lists(st.binary(max_size=9), max_size=9))
def test_lines_of_ranks_are_in_base64(tokens: list[bytes]) -> None:
    offsets = np.cumsum([0, *map(len, tokens)])
    expected = [b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens) if token]
    assert rank_lines(b"".join(tokens), offsets) == b"".join(expected)
    assert lines(b"".join(tokens), offsets) == b"".join(token + b"\n" for token in tokens)


@pytest.mark.parametrize("n", [0, 1, 100, 127, 128, 20000])
def test_pieces_are_written_as_messages(n: int) -> None:
    texts, scores = [b"x" * n, b"", b"yz"], np.array([-1.5, 0, 3e-5], dtype=np.float32)
    types = np.array([1, 3, 6], dtype=np.uint8)
    made = piece_fields(b"".join(texts), np.cumsum([0, *map(len, texts)]), scores, types, 0, 3)
    expected = b""
    for text, score, type_ in zip(texts, scores.tolist(), types.tolist(), strict=True):
        message = protobuf.written(1, text) + protobuf.written(2, score)
        expected += protobuf.written(1, message if type_ == 1 else message + protobuf.written(3, type_))
    assert made == expected
    with pytest.raises(IndexError, match="for each piece"):
        piece_fields(b"", np.zeros(1, dtype=np.int64), scores, types, 0, 1)
