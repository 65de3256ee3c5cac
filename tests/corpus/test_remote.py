"""URLs (fsspec), Zstandard and Arrow files are read like local, uncompressed files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import tokkit
from extras import extra
from tokkit.corpus.readers import Corpus, documents
from tokkit.data import Tokens, encode_shards
from tokkit.errors import CorpusError, OptionError
from tokkit.trainers import build_counts

LINES = ["low lower\n", "newest ü\n"] * 40_000


@pytest.fixture
def memory() -> object:
    """fsspec's file system in memory, with a folder of shards."""
    fsspec = extra("fsspec")
    system = fsspec.filesystem("memory")
    with system.open("/shards/b.txt", "wb") as file:
        file.write(b"".join(line.encode() for line in LINES))
    with system.open("/shards/sub/a.jsonl", "wb") as file:
        file.write(json.dumps({"text": "one"}).encode() + b"\n")
    with system.open("/shards/ignored.bin", "wb") as file:
        file.write(b"\xff")
    yield system
    system.rm("/shards", recursive=True)


def test_urls_globs_and_folders_of_urls_are_read(memory: object) -> None:
    corpus = Corpus("memory://shards/b.txt")
    assert b"".join(block.data for block in corpus) == "".join(LINES).encode()
    assert corpus.done == corpus.total == len("".join(LINES).encode())
    assert list(documents("memory://shards")) == [*LINES, "one"]
    assert list(documents(["memory://shards/*/*.jsonl"])) == ["one"]
    with pytest.raises(CorpusError, match=r"no file matches memory://shards/none\.txt"):
        Corpus("memory://shards/none.txt")
    with pytest.raises(OptionError, match="none://shards cannot be read"):
        Corpus("none://shards")


def test_shards_by_url_are_counted_and_encoded_once(memory: object, tmp_path: Path) -> None:
    made = build_counts("memory://shards", tmp_path / "counts")
    assert [m.counted for m in made] == [True, True]
    assert [m.counted for m in build_counts("memory://shards/", tmp_path / "counts")] == [False, False]
    with memory.open("/shards/sub/a.jsonl", "wb") as file:  # type: ignore[attr-defined]
        file.write(b'{"text": "two words"}\n')
    assert [m.counted for m in build_counts("memory://shards/", tmp_path / "counts")] == [False, True]
    tok = tokkit.train({"low": 1}, vocab_size=256)
    encode_shards(tok, "memory://shards/sub", tmp_path / "ids")
    assert tok.decode(Tokens(tmp_path / "ids").document(0)) == "two words"


def test_a_url_of_a_file_here_is_that_file(tmp_path: Path) -> None:
    extra("fsspec")
    (tmp_path / "a.txt").write_text("low\n")
    assert list(documents(f"file://{tmp_path}/a.txt")) == ["low\n"]
    assert list(documents(f"file://{tmp_path}/*.txt")) == ["low\n"]


def test_zstandard_is_decompressed_and_a_cut_is_found(tmp_path: Path) -> None:
    zstandard = extra("zstandard")
    text = "".join(LINES).encode()
    frames = [zstandard.compress(text[:1000]), zstandard.ZstdCompressor(write_checksum=True).compress(text[1000:])]
    path = tmp_path / "a.txt.zst"
    path.write_bytes(b"".join(frames))
    assert b"".join(block.data for block in Corpus(path)) == text
    assert b"".join(block.data for block in Corpus(tmp_path)) == text, "a folder's files may be compressed"
    path.write_bytes(b"".join(frames)[:-3])
    with pytest.raises(CorpusError, match=r"a\.txt\.zst ends early"):
        list(Corpus(path))
    path.write_bytes(frames[0] + b"no frame")
    with pytest.raises(CorpusError, match=r"a\.txt\.zst cannot be read"):
        list(Corpus(path))
    path.write_bytes(b"")
    assert list(Corpus(path)) == []


def test_files_and_streams_of_arrow_have_columns_of_texts(tmp_path: Path) -> None:
    pyarrow = extra("pyarrow")
    table = pyarrow.table({"text": ["one", "zwei", ""], "n": [1, 2, 3]})
    for name, writer in (("f.arrow", pyarrow.ipc.new_file), ("s.arrow", pyarrow.ipc.new_stream)):
        with writer(tmp_path / name, table.schema) as out:
            out.write_table(table, max_chunksize=2)
        assert list(documents(tmp_path / name)) == ["one", "zwei", ""]
        with pytest.raises(CorpusError, match="no column 'body'"):
            list(documents(tmp_path / name, field="body"))
    (tmp_path / "x.arrow").write_bytes((tmp_path / "f.arrow").read_bytes()[:200])
    with pytest.raises(CorpusError, match=r"x\.arrow cannot be read"):
        list(documents(tmp_path / "x.arrow"))


@pytest.mark.parametrize(("name", "package"), [("memory://a.txt", "fsspec"), ("a.txt.zst", "zstandard")])
def test_without_their_packages_the_extra_is_named(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt.zst").write_bytes(b"")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OptionError, match=rf"{package}: pip install 'pytokkit\[data\]'"):
        list(Corpus(name))
