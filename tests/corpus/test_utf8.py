"""A byte-order mark at the start of a file of text or labels is dropped, with a note, whatever reads the file."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tokkit
from tokkit.chunks.files import chunk_file
from tokkit.corpus.readers import documents
from tokkit.corpus.utf8 import after_mark
from tokkit.embeddings import KeyedVectors
from tokkit.embeddings.fasttext_supervised import train_supervised
from tokkit.errors import CorpusError
from tokkit.pipeline.finetuning_data import read_labelled

BOM = b"\xef\xbb\xbf"
TEXT = "low lower\nnewest wide\n"
NOTE = "begins with a byte-order mark, which is dropped"


class Trickle(io.RawIOBase):
    """A stream that cannot go back, and gives one byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        data = self._data.read(1)
        buffer[: len(data)] = data
        return len(data)


@pytest.mark.parametrize(
    "data", [b"", b"a", b"\xef", b"\xef\xbb", BOM, BOM + b"ab", BOM + BOM, b"abcdef\nxyz", b"\xef\xbbx"]
)
def test_a_stream_begins_after_its_mark_and_loses_nothing_else(data: bytes) -> None:
    wanted = data.removeprefix(BOM)
    for stream, seekable in ((io.BytesIO(data), True), (io.BytesIO(data), False), (Trickle(data), False)):
        text, skipped = after_mark(stream, "a.txt", seekable=seekable)  # type: ignore[arg-type]
        assert text.read() == wanted
        assert skipped == len(data) - len(wanted)
    lines = list(after_mark(Trickle(data), "a.txt", seekable=False)[0])  # type: ignore[arg-type]
    assert b"".join(lines) == wanted


def test_files_of_all_kinds_are_read_without_the_mark(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = BOM + TEXT.encode()
    kinds = {"txt": data, "txt.gz": gzip.compress(data), "txt.bz2": bz2.compress(data), "txt.xz": lzma.compress(data)}
    kinds["jsonl"] = BOM + json.dumps({"text": TEXT}).encode()
    kinds["json"] = BOM + json.dumps([TEXT]).encode()
    for suffix, written in kinds.items():
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(written)
        caplog.clear()
        assert "".join(documents(path)) == TEXT, suffix
        assert [record.message for record in caplog.records] == [f"{path} {NOTE}"]
        (tmp_path / f"b.{suffix}").write_bytes(BOM if "jsonl" in suffix else written)
    assert list(documents(tmp_path / "b.jsonl")) == []


@pytest.mark.parametrize("kind", ["csv", "zst"])
def test_files_that_need_a_package_too(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        pytest.importorskip("pyarrow", reason="tables are read by pyarrow")
        path.write_bytes(BOM + b"text,n\nlow,1\n")
        assert list(documents(path)) == ["low"]
    else:
        zstandard = pytest.importorskip("zstandard", reason=".zst files are read by zstandard")
        path = path.rename(tmp_path / "a.txt.zst") if path.exists() else tmp_path / "a.txt.zst"
        for data in (BOM + TEXT.encode(), TEXT.encode()):
            path.write_bytes(zstandard.compress(data))
            assert "".join(documents(path)) == TEXT


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("data", [BOM + TEXT.encode(), TEXT.encode()])
def test_a_pipe_cannot_go_back(tmp_path: Path, data: bytes) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    assert "".join(documents(pipe)) == TEXT
    writer.join()


def test_places_in_messages_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(BOM + b"ab\xff")
    tok = tokkit.train(iter([TEXT]), vocab_size=260)
    for read in (
        lambda: list(documents(path)),
        lambda: tok.encode_file(path, tmp_path / "ids.npy"),
        lambda: list(chunk_file(path, tok, tokens=9)),
    ):
        with pytest.raises(CorpusError, match=r'byte 5 \(0xff\) is not UTF-8; use input_errors="replace" or "ignore"'):
            read()


def test_files_are_encoded_and_cut_without_the_mark(tmp_path: Path) -> None:
    marked, plain = tmp_path / "marked.txt", tmp_path / "plain.txt"
    marked.write_bytes(BOM + TEXT.encode())
    plain.write_bytes(TEXT.encode())
    tok = tokkit.train([marked], vocab_size=262)
    assert tok.fingerprint() == tokkit.train([plain], vocab_size=262).fingerprint()
    for path in (marked, plain):
        tok.encode_file(path, tmp_path / f"{path.stem}.npy")
    assert (tmp_path / "marked.npy").read_bytes() == (tmp_path / "plain.npy").read_bytes()
    assert [c.text for c in chunk_file(marked, tok, tokens=8)] == [c.text for c in chunk_file(plain, tok, tokens=8)]


def test_the_first_label_and_the_first_pair_are_found(tmp_path: Path) -> None:
    rows = tmp_path / "rows.tsv"
    rows.write_bytes(BOM + b"low lower\tgood\nwide\tbad\n")
    assert read_labelled(str(rows)) == (["low lower", "wide"], ["good", "bad"])
    labelled = tmp_path / "labelled.txt"
    labelled.write_bytes(BOM + b"__label__a low\n" + b"__label__b wide\n" * 9)
    model = train_supervised(labelled, dim=4, thread=1, minCount=1)
    assert sorted(model.labels) == ["__label__a", "__label__b"]
    assert model.test(labelled)[0] == 10
    vectors = KeyedVectors.of(["low", "lower", "wide"], np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]))
    (tmp_path / "pairs.txt").write_bytes(BOM + b"low\tlower\t9\nlow\twide\t1\nlower\twide\t2\n")
    assert vectors.evaluate_word_pairs(str(tmp_path / "pairs.txt"), delimiter="\t")[2] == 0.0


def test_lone_surrogates_say_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "low"}\n{"text": "lo\\ud800w"}\n', encoding="utf-8")
    with pytest.raises(CorpusError, match=r'line 2: character 2 is a lone surrogate.*use input_errors="replace"'):
        list(documents(path))
    assert list(documents(path, errors="replace")) == ["low", "lo\ufffdw"]
    assert list(documents(path, errors="ignore")) == ["low", "low"]


@pytest.mark.skipif(sys.platform == "win32", reason="a file is a list of bytes here")
def test_a_text_that_only_looks_like_a_mark_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\ufeffb\n\ufeffc\n", encoding="utf-8")
    assert "".join(documents(path)) == "a\ufeffb\n\ufeffc\n"
