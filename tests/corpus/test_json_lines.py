"""The core reads the texts of JSON lines as Python's json does, and leaves unusual lines to it."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.json_lines import texts_of
from tokkit._core.documents import json_texts
from tokkit._core.text import isas
from tokkit.corpus import readers
from tokkit.corpus.readers import Corpus, documents
from tokkit.errors import CorpusError

FIELDS = ["text", "é", 'a"\\b', "", "\u2028", "𐏿"]
KEYS = ["text", "te\u0078t", "é", 'a"\\b', "", "\u2028", "𐏿", "id", "tex", "text "]


def read(data: bytes, field: str = "text", isa: str | None = None) -> tuple[list[str], int, int]:
    """What the core reads: texts, where it stops, and how many lines it read."""
    texts, packed, at, n_lines = json_texts(data, 0, field.encode(), isa)
    ends = np.frombuffer(packed, dtype=np.int64).tolist()
    assert ends == sorted(ends)
    assert (ends[-1] if ends else 0) == len(texts)
    assert at == len(data) or (not at or data[at - 1 : at] == b"\n"), "it stops where a line begins"
    assert data[:at].count(b"\n") + (at == len(data) and not data.endswith(b"\n") and bool(data)) == n_lines
    return [texts[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)], at, n_lines


def check(data: bytes, field: str = "text") -> None:
    """Compare with Python's json, on each instruction set, and for each way with what is not UTF-8."""
    for isa in isas():
        rest, number, found = data, 0, []
        while rest:  # what the core leaves the twin reads
            texts, at, n_lines = read(rest, field, isa)
            found += texts
            number += n_lines
            line, _, rest = rest[at:].partition(b"\n")
            try:
                found += texts_of(line, field)
            except ValueError:
                found.append(f"error {number + 1}")
                break
            number += 1
        assert found == wanted(data, field)


def wanted(data: bytes, field: str, errors: str = "strict") -> list[str]:
    """What Python's json finds in all lines up to the first error, and that."""
    try:
        return texts_of(data, field, errors)
    except ValueError as error:
        number, found = error.args
        return [*found, f"error {number}"]


def value(drawn: random.Random, depth: int = 0) -> str:
    """A value of JSON, written in one of many ways."""
    kind = drawn.randrange(12 if depth < 4 else 8)
    if kind < 3:
        return string(drawn)
    if kind < 6:
        return drawn.choice(["0", "-0", "12", "-3.50", "1e9", "2E-7", "1.5e+3", "1" * 30, "0." + "7" * 40])
    if kind < 8:
        return drawn.choice(["true", "false", "null", "NaN", "Infinity", "-Infinity"])
    inside = [value(drawn, depth + 1) for _ in range(drawn.randrange(4))]
    if kind < 10:
        return "[" + ",".join(space(drawn) + v + space(drawn) for v in inside) + space(drawn) + "]"
    return record([(drawn.choice(KEYS), v) for v in inside], drawn)


def string(drawn: random.Random, text: str | None = None) -> str:
    """A string of JSON, whose characters are escaped at random."""
    some = ["a", "text", "é", "日本", "🦜", '"', "\\", "/", "\n", "\t", "\x7f", "x" * drawn.randint(50, 80), "\u2028"]
    made = ""
    for character in "".join(drawn.choices(some, k=drawn.randint(0, 6))) if text is None else text:
        if drawn.random() < 0.2 or character < " " or character in '"\\':
            short = json.dumps(character)[1:-1]
            units = character.encode("utf-16-be", "surrogatepass").hex()
            long = "".join("\\u" + units[k : k + 4] for k in range(0, len(units), 4))
            made += drawn.choice([short, long, long.upper().replace("\\U", "\\u")])
        else:
            made += character
    return f'"{made}"'


def space(drawn: random.Random) -> str:
    return drawn.choice(["", "", "", " ", "\t ", "\r", " " * 70])


def record(items: list[tuple[str, str]], drawn: random.Random) -> str:
    made = [
        space(drawn) + string(drawn, key) + space(drawn) + ":" + space(drawn) + v + space(drawn) for key, v in items
    ]
    return "{" + ",".join(made) + "}"


def line(drawn: random.Random, field: str) -> str:
    """A record with the field, among other keys, which may come again."""
    items = [(drawn.choice(KEYS), value(drawn)) for _ in range(drawn.randrange(4))]
    items.insert(drawn.randint(0, len(items)), (field, string(drawn)))
    return space(drawn) + record(items, drawn) + space(drawn)


@pytest.mark.parametrize("seed", range(0, 300, 30))
def test_lines_have_the_texts_that_json_finds(seed: int) -> None:
    for drawn in map(random.Random, range(seed, seed + 30)):
        field = drawn.choice(FIELDS)
        lines = [line(drawn, field) if drawn.random() < 0.9 else drawn.choice(["", " \r", "\v\f"]) for _ in range(4)]
        check("\n".join(lines).encode(), field)
        assert read(("{" + string(drawn, field) + ":" + string(drawn, "as it is 🦜") + "}").encode(), field)[0]


@pytest.mark.parametrize("seed", range(0, 300, 30))
def test_damaged_lines_are_left_to_json(seed: int) -> None:
    some = b'{}[]:,"\\u0deE-+.NtfI \n\r\x00\x0b\x1f\x80\xc3\xed\xa0\xf0\xff'
    for drawn in map(random.Random, range(seed, seed + 30)):
        data = bytearray("\n".join(line(drawn, "text") for _ in range(3)).encode())
        for _ in range(drawn.randint(1, 4)):
            at = drawn.randrange(len(data))
            change = drawn.randrange(4)
            data[at : at + (change > 0)] = bytes([drawn.choice(some)] if change < 3 else [])
        check(bytes(data))


PIECES = [*'{}[]:,"\\0-e5x \t\r\n\v\0\x1fé\ufeff', '{"text":', '"text"', "\\u", "d83d", "\\ud83d", "\\ude00", "1."]
PIECES += ["true", "nul", "NaN", "-Infinity"]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_any_pieces_are_read_as_json_reads_them(pieces: list[str]) -> None:
    joined = "".join(pieces)
    for data in (joined, '{"text": "' + joined + '"}', '{"a": ' + joined + ', "text": "x"}'):
        check(data.encode())


ADVERSARIAL = {
    "a pair of surrogates": rb'{"text": "\ud83e\udd9c \uD83E\uDD9C"}',
    "half of a pair": rb'{"text": "\ud83e"}',
    "the second half of a pair": rb'{"text": "\udd9c"}',
    "halves in the wrong order": rb'{"text": "\udd9c\ud83e"}',
    "a half before a pair": rb'{"text": "\ud83e\ud83e\udd9c"}',
    "a half before a character": rb'{"text": "\ud83ex"}',
    "a half before another escape": rb'{"text": "\ud83e\n"}',
    "half of a pair in another field": rb'{"a": "\ud83e", "\udd9c": "\udd9c", "text": "x"}',
    "a half before no escape": rb'{"text": "\ud83e\u12"}',
    "the same key again": b'{"text": "one", "a": 1, "text": "two"}',
    "the same key by an escape": rb'{"text": "one", "te\u0078t": "two"}',
    "the same key again with a number": b'{"text": "one", "text": 2}',
    "the same key again after a number": b'{"text": 1, "text": "two"}',
    "a longer text first": b'{"text": "a long one", "a": "b", "text": ""}',
    "the same key inside": b'{"a": {"text": "no", "b": [{"text": "no"}]}, "text": "yes", "c": {"text": "no"}}',
    "only inside": b'{"a": {"text": "no"}}',
    "white space": b' \t\r{ \t"text"\r :\t "x" \r } \t\r',
    "other white space": b'{"text":\x0b"x"}',
    "no-break space": '{"text":\u00a0"x"}'.encode(),
    "a mark of byte order": b'\xef\xbb\xbf{"text": "x"}',
    "a control character": b'{"text": "a\tb"}',
    "a zero byte": b'{"text": "a\x00b"}',
    "a zero byte after all": b'{"text": "ab"}\x00',
    "a delete": b'{"text": "a\x7fb"}',
    "invalid UTF-8": b'{"text": "a\xffb"}',
    "invalid UTF-8 in another field": b'{"a": "\xc3", "text": "x"}',
    "a surrogate in UTF-8": b'{"text": "\xed\xa0\x80"}',
    "an overlong character": b'{"text": "\xc0\xaf"}',
    "an array": b'["text"]',
    "a string": b'"text"',
    "two values": b'{"text": "x"} {"text": "y"}',
    "a comma at the end": b'{"text": "x",}',
    "no comma": b'{"text": "x" "a": 1}',
    "nothing": b"{}",
    "a number of the wrong form": b'{"a": 01, "text": "x"}',
    "a number without a fraction": b'{"a": 1., "text": "x"}',
    "a number without an exponent": b'{"a": 1e, "text": "x"}',
    "a sign alone": b'{"a": -, "text": "x"}',
    "a plus": b'{"a": +1, "text": "x"}',
    "not a number": b'{"a": NaN, "b": -Infinity, "c": Infinity, "text": "x"}',
    "minus not a number": b'{"a": -NaN, "text": "x"}',
    "a word that goes on": b'{"a": nulll, "text": "x"}',
    "a word that ends": b'{"a": nul',
    "a long number": b'{"a": ' + b"9" * 5000 + b', "text": "x"}',
    "a number of 600 digits": b'{"a": ' + b"9" * 600 + b', "text": "x"}',
    "deep": b'{"a": ' + b"[" * 63 + b"]" * 63 + b', "text": "x"}',
    "deeper": b'{"a": ' + b'[{"b":' * 300 + b"1" + b"}]" * 300 + b', "text": "x"}',
    "too deep": b'{"a": ' + b"[" * 100_000 + b', "text": "x"}',
    "the wrong bracket": b'{"a": [1}, "text": "x"}',
    "an escape of no kind": rb'{"text": "\x41"}',
    "an escape that ends": b'{"text": "\\',
    "digits that end": b'{"text": "\\u00',
    "digits of no kind": rb'{"text": "\u00g0"}',
    "digits with a sign": rb'{"text": "\u+123"}',
    "a string that ends": b'{"text": "abc',
    "a key that is a number": b'{1: 2, "text": "x"}',
    "a single quote": b"{'text': 'x'}",
    "a comment": b'{"text": "x"} // x',
    "a long line": b'{"text": "' + b"0123456789 " * 30_000 + b'"}',
    "many escapes": b'{"text": "' + b"\\n\\u00e9\\ud83e\\udd9c" * 5_000 + b'"}',
    "empty text": b'{"text": ""}',
    "no end": b'{"text": "x"',
}


@pytest.mark.parametrize("data", ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_unusual_lines_are_read_as_json_reads_them(data: bytes) -> None:
    good = b'{"text": "good"}'
    for before, after in ((b"", b""), (b"\n \n", b"\n"), (good + b"\n", b"\r\n" + good), (good + b"\r\n\v\n", b"\n\n")):
        check(before + data + after)
    check(data, "a")


@pytest.mark.parametrize("cut", range(len(b'{"a": [1, "\\n"], "text": "\\u00e9\xc3\xa9"}')))
def test_a_line_may_end_anywhere(cut: int) -> None:
    data = b'{"a": [1, "\\n"], "text": "\\u00e9\xc3\xa9"}'
    check(data[:cut])
    check(data[:cut] + b"\n" + data)


def test_places_of_blocks_in_a_string_do_not_matter() -> None:
    for n in range(140):
        for inside in ("", "\\n", "é", '\\"', "\\u00e9"):
            data = ('{"text": "' + "x" * n + inside + "y" * 70 + '"}').encode()
            assert read(data)[0] == [json.loads(data)["text"]]


def test_usual_lines_are_read_by_the_core() -> None:
    drawn = random.Random(1)
    for _ in range(200):
        meta = {"id": drawn.random(), "more": [None, True, {"text": "no"}], "url": "https://example.org/ü"}
        texts = [
            "".join(drawn.choices(["é", " ", "日", "🦜", '"', "\n", "word"], k=drawn.randint(0, 40))) for _ in "abc"
        ]
        for ascii_ in (False, True):
            data = "".join(json.dumps({**meta, "text": t}, ensure_ascii=ascii_) + "\n" for t in texts).encode()
            assert read(data) == (texts, len(data), 3)


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore"])
@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_a_file_has_the_same_texts_and_errors_with_blocks_of_any_size(
    errors: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "BLOCK_BYTES", block)
    good = b'{"a": 1, "text": "good"}\n\n'
    path = tmp_path / "a.jsonl"
    for data in (d for d in ADVERSARIAL.values() if len(d) < 3_000):
        for after in (b"", b"\n" + good):
            path.write_bytes(good + data + after)
            # A mark of byte order at the start of the file is dropped, and is no line of its own elsewhere.
            expected = wanted(path.read_bytes(), "text", errors)
            try:
                found = list(documents(path, errors=errors))
                assert found == expected
            except CorpusError as error:
                match = re.search(r"a\.jsonl, line (\d+)", str(error))
                assert match
                assert expected[-1] == f"error {match[1]}"


def test_a_field_that_utf8_lacks_is_found_by_json(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"\\ud800": "x"}\n{"\\ud800": "y"}\n')
    assert list(documents(path, field="\ud800")) == ["x", "y"]


def test_many_unusual_lines_take_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1, "text": "\\ud800 and more"}\n' * 4_000)
    blocks = list(Corpus(path, errors="replace"))
    assert len(blocks) == 1
    assert sum(len(block.texts()) for block in blocks) == 4_000


def test_the_place_must_be_in_the_data() -> None:
    with pytest.raises(ValueError, match=r"at is 5 and stop None; .* 2 bytes of data"):
        json_texts(b"{}", 5, b"text")
    with pytest.raises(ValueError, match="isa is 'mmx'"):
        json_texts(b"{}", 0, b"text", "mmx")
    assert json_texts(b"", 0, b"text") == (b"", b"", 0, 0)
