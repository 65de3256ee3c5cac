"""Files of vectors are read as they were written; errors for damaged ones name the file and the position."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
import re
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import vector_file as twin
from tokkit._core.embed.vector_file import VectorReader, vector_lines
from tokkit.embeddings import KeyedVectors
from tokkit.embeddings.formats import reading
from tokkit.embeddings.formats.detection import detect
from tokkit.errors import FormatError, OptionError, ShapeError

KEYS = ["the", "naïve", "日本", "a-b", "x", "</s>", "😀"]
VECTORS = np.random.default_rng(1).standard_normal((7, 5)).astype(np.float32)
WRITTEN = {"v.bin": {"binary": True}, "v.txt": {}, "glove.txt": {"write_header": False}}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def words() -> KeyedVectors:
    return KeyedVectors.of(KEYS, VECTORS)


def same(found: KeyedVectors, keys: list[str] = KEYS, vectors: np.ndarray = VECTORS) -> None:
    assert found.index_to_key == keys
    np.testing.assert_array_equal(found.vectors, vectors)


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 1 << 21])
@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_is_read_back_wherever_chunks_end(
    name: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHUNK", chunk)
    monkeypatch.setattr(reading, "FIRST_ROWS", 20)
    words().save_word2vec_format(name, **WRITTEN[name])  # type: ignore[arg-type]
    same(KeyedVectors.load(name))
    same(KeyedVectors.load(name, limit=3), KEYS[:3], VECTORS[:3])
    options = {"binary": name == "v.bin", "no_header": name == "glove.txt"}
    same(KeyedVectors.load_word2vec_format(name, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("name", WRITTEN)
def test_compressed_files_are_read_and_cut_ones_refused(name: str, suffix: str, pack) -> None:
    words().save_word2vec_format(name, **WRITTEN[name])  # type: ignore[arg-type]
    packed = pack(Path(name).read_bytes())
    Path(name + suffix).write_bytes(packed)
    same(KeyedVectors.load(name + suffix))
    words().save_word2vec_format("own" + suffix, **WRITTEN[name])  # type: ignore[arg-type]
    same(KeyedVectors.load("own" + suffix))
    assert pack is not gzip.compress or gzip.decompress(Path("own.gz").read_bytes()) == Path(name).read_bytes()
    for damaged in (packed[:-12], packed[:40] + b"\0\0" + packed[42:]):
        Path(name + suffix).write_bytes(damaged)
        with pytest.raises(FormatError, match=re.escape(name + suffix)):
            KeyedVectors.load(name + suffix)


def test_the_original_writes_a_line_end_after_each_vector_and_fasttext_a_space() -> None:
    records = [f"{key} ".encode() + row.tobytes() + b"\n" for key, row in zip(KEYS, VECTORS, strict=True)]
    Path("v.bin").write_bytes(b"7 5\n" + b"".join(records))
    same(KeyedVectors.load("v.bin"))
    lines = [f"{key} {' '.join(f'{x:.9g}' for x in row)} \n" for key, row in zip(KEYS, VECTORS, strict=True)]
    Path("v.vec").write_text("7 5\n" + "".join(lines), encoding="utf-8")
    same(KeyedVectors.load("v.vec"))
    Path("v.vec").write_bytes(Path("v.vec").read_bytes().replace(b"\n", b"\r\n").rstrip())
    same(KeyedVectors.load("v.vec"))


def test_keys_of_text_may_have_spaces_and_be_numbers() -> None:
    Path("glove.txt").write_text(". . . 1 2\nat name@domain.com 3 4\n5 5 6\n1 1/2 7 8\ne 9 0\n")
    found = KeyedVectors.load("glove.txt")
    assert found.index_to_key == [". . .", "at name@domain.com", "5", "1 1/2", "e"]
    assert found.vectors.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 0]]


def test_the_start_of_a_file_tells_its_format_whatever_the_first_key_and_numbers_are() -> None:
    Path("v.txt").write_text("2 2\nat name@domain.com 1 2\nb 3 4\n")
    assert KeyedVectors.load("v.txt").index_to_key == ["at name@domain.com", "b"]
    rng = np.random.default_rng(5)
    for d in (2, 3, 300):
        for row in rng.standard_normal((500, d)).astype(np.float32):
            assert detect(b"2 %d\na " % d + row.tobytes()) == "binary"
    wide = rng.standard_normal((2, 20_000)).astype(np.float32)
    KeyedVectors.of(["a", "b"], wide).save_word2vec_format("wide.txt", write_header=False)
    same(KeyedVectors.load("wide.txt"), ["a", "b"], wide)


KEY = st.text(st.characters(codec="utf-8", exclude_characters="\n\t\r "), min_size=1, max_size=5)
NUMBER = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=25)  # each waits for the disk
@given(st.data(), st.integers(1, 4), st.booleans())
def test_files_are_read_as_the_twin_reads_them(data: st.DataObject, d: int, binary: bool) -> None:
    keys = data.draw(st.lists(KEY, min_size=1, max_size=5, unique=True))
    rows = np.array(
        data.draw(st.lists(st.lists(NUMBER, min_size=d, max_size=d), min_size=len(keys), max_size=len(keys))),
        dtype=np.float32,
    )
    KeyedVectors.of(keys, rows).save_word2vec_format("drawn", binary=binary)
    written = Path("drawn").read_bytes()
    expected = twin.read_binary(written) if binary else twin.read_text(written.partition(b"\n")[2], d)
    found = KeyedVectors.load_word2vec_format("drawn", binary=binary)
    assert (found.index_to_key, found.vectors.tolist()) == (expected[0], expected[1].tolist())
    assert (found.index_to_key, found.vectors.tolist()) == (keys, rows.tolist())


def read_number(text: str) -> float:
    reader, rows = VectorReader(1), np.empty((1, 1), dtype=np.float32)
    reader.room(rows)
    reader.feed(b"k " + text.encode(), text=True, last=True)
    return float(rows[0, 0])


@given(st.one_of(NUMBER.map(repr), st.floats(-1e30, 1e30).map(repr), st.decimals(-1000, 1000, places=6).map(str)))
def test_numbers_are_read_as_numpy_reads_them(text: str) -> None:
    assert read_number(text) == float(np.float32(float(text)))


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "-1.",
        ".5",
        "+2e3",
        "1E-3",
        "0",
        "-0.0",
        "00012",
        "1e-60",
        "123456789012345678901234567890",
        "4e-46",
        "0.000000000000000000000000012345678",
        "1e+00002",
        "3.4028235e38",
        "1.00000000000000000000000000001",
    ],
)
def test_every_form_of_a_number_is_read(text: str) -> None:
    assert read_number(text) == float(np.float32(float(text)))


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "1e+", "0x10", "1,5", "1_0", "--1", "nanx", "1.2.3", "é"])
def test_what_is_not_a_number_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a number|the vector has 0"):
        read_number(text)


def test_numbers_are_written_as_numpy_writes_them_and_read_back() -> None:
    rng = np.random.default_rng(2)
    usual = np.concatenate([rng.standard_normal(3000), rng.standard_normal(500) / 1e5, [0, -0.0, 1, 0.5, 0.001, 12345]])
    usual = usual.astype(np.float32)
    assert vector_lines([b"k"], usual[np.newaxis]).decode().split() == ["k", *map(str, usual)]
    bits = rng.integers(0, 1 << 32, 20_000, dtype=np.uint32).view(np.float32)
    rare = np.concatenate([bits[np.isfinite(bits)], (2.0 ** np.arange(-149, 128)).astype(np.float32)])
    read = np.array(vector_lines([b"k"], rare[np.newaxis]).split()[1:], dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(read.view(np.uint32), rare.view(np.uint32))


FLOATS = struct.pack("<2f", 1, 2)
NAN = struct.pack("<2f", 1, float("nan"))
BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "the file is empty"),
    "blank": (b"\n\n", "no line with a vector"),
    "cut within a vector": (b"2 2\na " + FLOATS + b"b " + FLOATS[:-1], "hold at most 1"),
    "cut within the last of many": (
        b"3 2\nword " + FLOATS + b"b " + FLOATS + b"ccccc " + FLOATS[:5],
        "states 3 vectors, but the file ends after 2",
    ),
    "more than announced": (b"1 2\na " + FLOATS + b"b " + FLOATS, "states 1 vectors, but b'b .* follows"),
    "NaN in bytes": (b"2 2\na " + FLOATS + b"b " + NAN, "vector 2: a number is NaN"),
    "a header that lies": (b"1000000000 300\na " + FLOATS, "hold at most 0"),
    "a header beyond all memory": (b"999999999999999999 1\na " + FLOATS, "hold at most 1"),
    "vectors of nothing": (b"2 0\na b\n", "vectors of 0 numbers"),
    "vectors beyond all": (b"1 5000000000\na 1\n", "5000000000 numbers; it must be 1 to"),
    "keys twice": (b"2 2\na " + FLOATS + b"a " + FLOATS, "vector 2: the key 'a' is also that of vector 1"),
    "half a character as a key": (b"2 2\n\xc3 " + FLOATS + b"\xa9 " + FLOATS, r"vector 1: its key is not utf8"),
    "a key that is not UTF-8": (b"1 2\n\xff " + FLOATS, r"vector 1: its key is not utf8 \(b'\\xff'\)"),
    "no key in bytes": (b"1 2\n " + FLOATS + b"      ", "vector 1: the key is empty"),
    "text cut": (b"3 2\na 1.25 2\nb 3 4 \n\n\n", "states 3 vectors, but the file ends after 2"),
    "text cut within a line": (b"2 2\na 1.5 2\nb 3.5", "line 3: the vector has 1 numbers; it must have 2"),
    "text of more lines": (b"1 2\na 1 2\nb 3 4\n", r"states 1 vectors, but b'b 3 4\\n' follows"),
    "a shorter vector": (b"a 1 2\nb 1\nc 3 4\n", "line 2: the vector has 1 numbers; it must have 2"),
    "a longer vector": (b"a 1 2\nb 1 2 3\nc 3 4\n", "line 2: the vector has 3 numbers; it must have 2"),
    "a key alone": (b"a 1 2\nb\nc 3 4\n", "line 2: the vector has 0 numbers; it must have 2"),
    "not a number": (b"a 1 2\nb 1 two\nc 3 4\n", "line 2: 'two' is not a number"),
    "NaN in text": (b"a 1 2\nb 1 nan\n", "line 2: a number is NaN"),
    "infinity in text": (b"a 1 2\nb 1 -inf\n", "line 2: a number is NaN, infinite"),
    "beyond float32": (b"a 1 2\nb 1 1e39\n", "line 2: a number is NaN, infinite or outside the range of float32"),
    "no key in text": (b"a 1 2\n 1 2\nb 1 2\n", "line 2: the key is empty"),
    "keys twice in text": (b"a 1 2\na 3 4\n", "vector 2: the key 'a' is also that of vector 1"),
    "plain text": (b"It was the best of times\n", "not a number"),
    "a pickle": (pickle.dumps({"vectors": 1}), r'pickle.*save_word2vec_format\("vectors.bin", binary=True\)'),
    "a fastText model": (struct.pack("<2i", 793712314, 12), "load it with tokkit.embeddings.FastText.load"),
    "another .safetensors": (b"\x02\0\0\0\0\0\0\0{}", "another kind of .safetensors"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_its_name_and_the_place(name: str) -> None:
    data, message = BAD[name]
    Path("bad.vectors").write_bytes(data)
    with pytest.raises(FormatError, match=message) as raised:
        KeyedVectors.load("bad.vectors")
    assert str(raised.value).startswith("bad.vectors: ")


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("header", [b"10000000 300\n", b"3 1000000\n", b"100000000000 1\n"])
def test_a_header_cannot_ask_for_more_memory_than_the_file_fills(header: bytes, suffix: str) -> None:
    for record in (b"a " + bytes(400), b"a 1 2 3 4 5\n"):
        data = header + record
        Path("lie" + suffix).write_bytes(gzip.compress(data) if suffix else data)
        tracemalloc.start()
        with pytest.raises(FormatError, match=r"states|it must have"):
            KeyedVectors.load("lie" + suffix)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
        tracemalloc.stop()


def test_keys_that_are_given_twice_or_are_not_utf_8_can_be_read_on_request() -> None:
    Path("v.txt").write_bytes(b"3 1\na 1\n\xff 2\na 3\n")
    load = KeyedVectors.load_word2vec_format
    same(load("v.txt", unicode_errors="replace", duplicates="first"), ["a", "\ufffd"], np.array([[1], [2]]))
    same(load("v.txt", encoding="latin-1", duplicates="first"), ["a", "ÿ"], np.array([[1], [2]]))
    Path("twice.txt").write_bytes(b"a 1\na 3\n")
    same(KeyedVectors.load("twice.txt", duplicates="first"), ["a"], np.array([[1]]))
    with pytest.raises(OptionError, match="it must be an encoding of Python"):
        load("v.txt", encoding="klingon")
    with pytest.raises(OptionError, match="duplicates"):
        load("v.txt", duplicates="last")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="limit is -1"):
        load("v.txt", limit=-1)
    with pytest.raises(OptionError, match="no_header"):
        load("v.txt", no_header=True, binary=True)


def test_counts_come_from_their_own_file_and_are_written_to_one() -> None:
    KeyedVectors.of(["a", "b c", "d"], VECTORS[:3], [5, 7, 6]).save_word2vec_format("v.txt", fvocab="v.counts")
    assert Path("v.counts").read_text() == "b c 7\nd 6\na 5\n"
    found = KeyedVectors.load_word2vec_format("v.txt", fvocab="v.counts")
    same(found, ["b c", "d", "a"], VECTORS[[1, 2, 0]])
    assert found.expandos["count"].tolist() == [7, 6, 5]
    Path("v.counts").write_text("b c 7\n")
    with pytest.raises(FormatError, match=r"v\.counts: there is no count of 'd'"):
        KeyedVectors.load_word2vec_format("v.txt", fvocab="v.counts")
    Path("v.counts").write_text("b c seven\n")
    with pytest.raises(FormatError, match=r"line 1.*a line must be a key"):
        KeyedVectors.load_word2vec_format("v.txt", fvocab="v.counts")
    with pytest.raises(OptionError, match="fvocab needs"):
        words().save_word2vec_format("v.txt", fvocab="v.counts")


@pytest.mark.parametrize(
    ("key", "binary", "message"),
    [
        ("a b", True, "nor a space"),
        ("", False, "must not be empty"),
        ("a\nb", False, "line end"),
        (" a", False, "as text"),
        ("a 1.5", False, "as numbers"),
        ("\ud800", True, "lone surrogate"),
    ],
)
def test_keys_that_could_not_be_read_back_are_not_written(key: str, binary: bool, message: str) -> None:
    Path("v").write_text("before")
    with pytest.raises(OptionError, match=message):
        KeyedVectors.of(["x", key], VECTORS[:2]).save_word2vec_format("v", binary=binary)
    assert Path("v").read_text() == "before"
    assert os.listdir() == ["v"]


def test_numbers_that_are_not_finite_are_not_written() -> None:
    vectors = VECTORS.copy()
    vectors[2, 1] = np.nan
    with pytest.raises(OptionError, match="the vector of '日本' contains NaN"):
        KeyedVectors.of(KEYS, vectors).save_word2vec_format("v")
    with pytest.raises(OptionError, match="append"):
        words().save_word2vec_format("v", append=True)
    assert os.listdir() == []


def test_vectors_of_a_file_replace_those_of_equal_keys() -> None:
    KeyedVectors.of(["x", "new", "the"], VECTORS[:3]).save_word2vec_format("v.bin", binary=True)
    found = KeyedVectors.of(KEYS, VECTORS.copy())
    assert found.intersect_word2vec_format("v.bin", lockf=0.5, binary=True) == 2
    np.testing.assert_array_equal(found["x"], VECTORS[0])
    np.testing.assert_array_equal(found["the"], VECTORS[2])
    np.testing.assert_array_equal(found["a-b"], VECTORS[3])
    assert found.vectors_lockf.tolist() == [0.5, 1, 1, 1, 0.5, 1, 1]
    with pytest.raises(ShapeError, match="5 dimensions; they must have 2"):
        KeyedVectors(2).intersect_word2vec_format("v.bin", binary=True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_save_writes_is_mapped_with_keys_and_attributes(dtype: type) -> None:
    saved = KeyedVectors.of([*KEYS[:-1], 7], VECTORS.astype(dtype), range(7))
    saved.set_vecattr(7, "share", 0.5)
    saved.save("v.safetensors")
    found = KeyedVectors.load("v.safetensors")
    assert found.index_to_key == [*KEYS[:-1], 7]
    np.testing.assert_array_equal(found.vectors, saved.vectors)
    assert found.vectors.dtype == dtype
    assert not found.vectors.flags.owndata
    assert found.get_vecattr(7, "count") == 6
    assert found.get_vecattr(7, "share") == 0.5
    part = KeyedVectors.load("v.safetensors", mmap=None, limit=2)
    assert part.index_to_key == KEYS[:2]
    assert part.vectors.flags.owndata
    assert part.expandos["count"].tolist() == [0, 1]
    found["the"] = np.ones(5)
    np.testing.assert_array_equal(KeyedVectors.load("v.safetensors")["the"], VECTORS[0].astype(dtype))
    with pytest.raises(OptionError, match="mmap"):
        KeyedVectors.load("v.safetensors", mmap="r+")  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [[], ['a "quoted", "b"'], ["back\\slash"], ["tab\t"], [""], [5], ["x", 7], ["', '"]])
def test_saved_keys_are_what_they_were(more: list[str | int]) -> None:
    keys = [*KEYS[:4], *more]
    KeyedVectors.of(keys, VECTORS[: len(keys)]).save("v")
    found = KeyedVectors.load("v")
    assert [found.get_index(key) for key in keys] == list(range(len(keys)))
    assert found.index_to_key == keys
    assert KeyedVectors.load("v", limit=3).index_to_key == keys[:3]


def test_what_cannot_be_saved_is_said_and_leaves_the_old_file() -> None:
    words().save("v")
    before = Path("v").read_bytes()
    tagged = words()
    tagged.set_vecattr("x", "tag", "noun")
    with pytest.raises(OptionError, match="'tag' has values of object"):
        tagged.save("v")
    with pytest.raises(OptionError, match="row 0 has no key"):
        KeyedVectors(2, count=1).save("v")
    with pytest.raises(OptionError, match="lone surrogate"):
        KeyedVectors.of(["\ud800"], VECTORS[:1]).save("v")
    assert Path("v").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"the"', b'"x"  ', "7 keys, 6 of them distinct"),
        (b'["the"', b"[null ", "list of strings"),
        (b'"version":"1"', b'"version":"2"', "is '2'"),
        (b'"vectors"', b'"VECTORS"', "'vectors' is missing"),
        (b'["the", ', b"[       ", "6 keys"),
    ],
)
def test_a_saved_file_is_checked(old: bytes, new: bytes, message: str) -> None:
    words().save("v")
    data = Path("v").read_bytes()
    assert old in data
    Path("v").write_bytes(data.replace(old, new))
    with pytest.raises(FormatError, match=message):
        KeyedVectors.load("v")


def test_a_file_that_is_not_there_is_an_oserror() -> None:
    with pytest.raises(FileNotFoundError):
        KeyedVectors.load("nowhere")
    with pytest.raises(FormatError, match="a directory"):
        KeyedVectors.load(".")
