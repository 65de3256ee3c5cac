"""Documents are read from files of every kind; an error names the file and the position."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import tokkit
from tokkit.corpus import bundled as bundled_corpus
from tokkit.corpus import readers
from tokkit.corpus.readers import Corpus, documents
from tokkit.errors import CorpusError

LINES = ["first line\n", "\n", "zweite Zeile: äöü\r\n", "第三行 🦜\n", "\n", "\r\n", "last, without an end"]
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "BLOCK_BYTES", 7)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
def test_a_text_is_cut_alike_whatever_the_size_of_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, block: int
) -> None:
    monkeypatch.setattr(readers, "BLOCK_BYTES", block)
    path = write(tmp_path / f"a.txt{suffix}", COMPRESSIONS.get(suffix, bytes)("".join(LINES).encode()))
    assert list(documents(path)) == LINES
    assert list(documents(path, unit="file")) == ["".join(LINES)]
    paragraphs = ["".join(LINES[:2]), "".join(LINES[2:6]), LINES[6]]
    assert list(documents(path, unit="paragraph")) == paragraphs


def test_random_paragraphs_are_cut_alike_whatever_the_size_of_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        text = "".join(rng.choices(["\n", "\r\n", "a", "bc", "\r", " "], k=rng.randint(1, 60)))
        path = write(tmp_path / "a.txt", text.encode())
        monkeypatch.setattr(readers, "BLOCK_BYTES", 1 << 20)
        whole = list(documents(path, unit="paragraph"))
        assert "".join(whole) == text
        monkeypatch.setattr(readers, "BLOCK_BYTES", rng.randint(1, 9))
        assert list(documents(path, unit="paragraph")) == whole
        assert list(documents(path)) == io.StringIO(text, newline="\n").readlines()


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)
def test_compressed_files_of_several_members_are_read_to_the_end(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    suffix = next(name for name, function in COMPRESSIONS.items() if function is compress)
    path = write(tmp_path / f"a.txt{suffix}", compress(b"one\nt") + compress(b"wo\n") + compress(b"three"))
    assert list(documents(path)) == ["one\n", "two\n", "three"]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_cut_and_damaged_compressed_files_are_corpus_errors(tmp_path: Path, suffix: str) -> None:
    data = COMPRESSIONS[suffix](bytes(random.Random(1).choices(b"abcdefgh\n", k=20_000)))
    path = write(tmp_path / f"cut.txt{suffix}", data[: len(data) // 2])
    with pytest.raises(CorpusError, match=r"cut\.txt.*(ends early|cannot be read)"):
        tokkit.train(path, vocab_size=300)
    write(path, data[:200] + b"damage" * 10 + data[260:])
    with pytest.raises(CorpusError, match=r"cut\.txt"):
        tokkit.train(path, vocab_size=300)
    write(path, b"no compressed file at all")
    with pytest.raises(CorpusError, match=r"cut\.txt"):
        tokkit.train(path, vocab_size=300)


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
def test_jsonl_gives_the_field_of_each_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    texts = ["one", "two\nlines", "", "dré 🦜"]
    lines = [json.dumps({"n": 1, "body": text}, ensure_ascii=bool(n % 2)) for n, text in enumerate(texts)]
    data = ("\ufeff" + "\r\n\n".join(lines)).encode()
    path = write(tmp_path / f"a.jsonl{suffix}", COMPRESSIONS.get(suffix, bytes)(data))
    assert list(documents(path, field="body")) == texts
    small_blocks(monkeypatch)
    assert list(documents(path, field="body")) == texts


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"body": "x"}', "no text in the field 'text'"),
        (b'{"text": 5}', "int in it"),
        (b'{"text": null}', "NoneType in it"),
        (b'["text"]', "a list"),
        (b"3", "a int"),
        (b"{text}", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"text": "\xff"}', "not UTF-8"),
        (b'{"text": "\\ud800"}', "surrogate"),
    ],
)
def test_a_line_of_jsonl_without_its_text_is_an_error_that_names_the_line(
    tmp_path: Path, line: bytes, message: str
) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text": "x"}\n\n' + line + b"\n")
    with pytest.raises(CorpusError, match=message) as error:
        tokkit.train(path, vocab_size=300)
    assert "a.jsonl, line 3" in str(error.value)


def test_lines_of_jsonl_are_numbered_from_one_in_any_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = b'{"text": "x"}\n'
    for block in (1, 7, 1 << 20):
        monkeypatch.setattr(readers, "BLOCK_BYTES", block)
        for data, place in (
            (b'{"text": "\\ud800"}', "line 1"),
            (b"\xef\xbb\xbf\n" + good + b'{"text": "\\ud800"}', "line 3"),
            (good + b"\r\n\n" + b'{"text": 1}\n' + good, "line 4"),
            (good + good + b'{"text": x}', "line 3, column 10"),
        ):
            with pytest.raises(CorpusError, match=rf"a\.jsonl, {place}: "):
                list(documents(write(tmp_path / "a.jsonl", data)))
    with pytest.raises(CorpusError, match="the text number 2: character 0 is a lone surrogate"):
        list(documents(iter(["x", "\ud800"])))


def test_bytes_that_are_not_utf8_are_named_replaced_or_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    path = write(tmp_path / "a.txt", b"0123456789\nabc\xff\nabc\n")
    for threads in (1, 2):
        with pytest.raises(CorpusError, match=r"a\.txt: byte 14 \(0xff\) is not UTF-8"):
            tokkit.train(path, vocab_size=260, threads=threads)
    assert list(documents(path, errors="replace")) == ["0123456789\n", "abc\ufffd\n", "abc\n"]
    assert list(documents(path, errors="ignore")) == ["0123456789\n", "abc\n", "abc\n"]
    made = tokkit.train(path, vocab_size=258, input_errors="ignore")
    assert [made.vocab[id_] for id_ in (256, 257)] == [b"ab", b"abc"]


def test_a_byte_order_mark_at_the_start_is_dropped_and_line_ends_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\n\xef\xbb\xbftwo\r\n")
    assert list(documents(path)) == ["one\r\n", "\ufefftwo\r\n"]
    monkeypatch.setattr(readers, "BLOCK_BYTES", 1)
    assert list(documents(path)) == ["one\r\n", "\ufefftwo\r\n"]
    assert list(documents(write(tmp_path / "b.txt", b"\xef\xbb\xbf"))) == []


def test_globs_name_files_in_order_and_existing_names_are_no_globs(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md", "[x].txt"):
        write(tmp_path / name, name.encode())
    (tmp_path / "d.txt").mkdir()
    assert list(documents(str(tmp_path / "[ab].txt"))) == ["a.txt", "b.txt"]
    assert list(documents(str(tmp_path / "[x].txt"))) == ["[x].txt"]
    assert list(documents([tmp_path / "c.md", os.fsencode(tmp_path / "?.txt")])) == ["c.md", "a.txt", "b.txt"]
    with pytest.raises(CorpusError, match=r"no file matches .*\*\.csv"):
        Corpus(str(tmp_path / "*.csv"))


def test_missing_files_directories_and_unknown_formats_are_errors_before_reading(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.txt does not exist"):
        Corpus([write(tmp_path / "a.txt", b"a"), tmp_path / "none.txt"])
    with pytest.raises(CorpusError, match=r"\.arrow files cannot be read"):
        list(Corpus(write(tmp_path / "a.arrow", b"a"), tables=False))
    for name in ("a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.tgz", "A.TAR.GZ", "a.tbz2", "a.txz", "a.zip"):
        with pytest.raises(CorpusError, match=rf"{name} is an archive of files; unpack it"):
            list(Corpus(write(tmp_path / name, gzip.compress(b"a"))))
    assert list(documents(write(tmp_path / "tar.gz", gzip.compress(b"a")))) == ["a"]
    with pytest.raises(CorpusError, match=r"give iter\(texts\)"):
        Corpus(["A text where a path belongs, which is what a list of texts is taken for.\n" * 2])


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="needs file names of any bytes, as on Linux")
def test_file_names_that_are_not_utf8_work(tmp_path: Path) -> None:
    name = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
    with open(name, "wb") as file:
        file.write(b"ab ab")
    assert list(documents(name)) == ["ab ab"]
    assert list(documents([os.fsdecode(name)])) == ["ab ab"]
    with open(name, "wb") as file:
        file.write(b"\xff")
    with pytest.raises(CorpusError, match="caf") as error:
        tokkit.train(name, vocab_size=300)
    str(error.value).encode()  # a message must be printable


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes, which Linux and macOS have")
def test_a_fifo_streams(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"one\ntwo\n" * 50_000,))
    writer.start()
    corpus = Corpus(path)
    assert sum(len(block.data) for block in corpus) == 400_000
    assert corpus.total == 0
    writer.join()


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ab\nabc\n")))
    assert list(documents("-")) == ["ab\n", "abc\n"]


def test_standard_input_that_is_closed_is_a_corpus_error(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.TextIOWrapper(io.BytesIO(b"ab"))
    closed.close()
    for stdin in (None, closed):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(CorpusError, match="standard input is closed"):
            list(documents("-"))


def test_texts_of_an_iterator_are_documents_as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["one\ntwo", b"three", bytearray(b"four"), memoryview(b"five"), "", "six"]
    expected = ["one\ntwo", "three", "four", "five", "", "six"]
    assert list(documents(iter(texts))) == expected
    small_blocks(monkeypatch)
    assert list(documents(iter(texts))) == expected


def test_a_corpus_tells_how_much_it_has_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write(tmp_path / f"{n}.txt", b"line\n" * 10) for n in range(3)]
    small_blocks(monkeypatch)
    corpus = Corpus(paths)
    seen = [corpus.done for _ in corpus]
    assert corpus.total == corpus.done == 150
    assert seen == sorted(seen)


def test_a_line_far_longer_than_a_block_takes_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadratic work would move 4 GB and more here."""
    path = write(tmp_path / "long.txt", b"x" * 4_000_000)
    monkeypatch.setattr(readers, "BLOCK_BYTES", 1000)
    assert [len(text) for text in documents(path)] == [4_000_000]


def test_the_bundled_corpus_is_found_and_read() -> None:
    paths = bundled_corpus.paths()
    assert "english.txt" in [path.name for path in paths]
    assert sum(map(len, documents(paths))) > 10_000
