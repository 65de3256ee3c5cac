"""Texts are read from files and folders of every kind; skipped files are listed with the reason."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tokkit.corpus import paths
from tokkit.errors import CorpusError
from tokkit.search import sources
from tokkit.search.snippets import printable, snippet
from tokkit.search.sources import Skipped, Source


def found(*paths: object, **options: str) -> list[str | Skipped]:
    return list(sources.find([str(path) for path in paths], **options))


def texts(path: Path, **options: str) -> list[str]:
    read = sources.read(str(path), **options)  # type: ignore[arg-type]
    assert isinstance(read, Source)
    return [document.text for document in read.documents]


def reason(path: Path, **options: str) -> str:
    read = sources.read(str(path), **options)  # type: ignore[arg-type]
    assert isinstance(read, Skipped)
    return read.reason


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.md", "sub/c.txt", "sub/deep/d.txt", ".hidden", ".git/config", "index/index.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_a_folder_is_read_in_order_without_hidden_files_and_the_index_itself(folder: Path) -> None:
    expected = [str(folder / name) for name in ("a.md", "b.txt", "sub/c.txt", "sub/deep/d.txt")]
    assert found(folder, leave_out=str(folder / "index")) == expected
    assert found(folder / "sub" / "deep", folder / "b.txt") == [expected[3], expected[1]]
    assert found(folder / ".hidden") == [str(folder / ".hidden")], "what is named is wanted"


def test_a_file_comes_once_however_often_it_is_named(folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder / "b.txt")
    names = found(folder / "b.txt", folder / "sub" / ".." / "b.txt", folder / "b.*", folder)
    assert [Path(str(name)).name for name in names] == ["b.txt", "a.md", "index.json", "c.txt", "d.txt"]


def test_what_is_not_there_is_an_error_before_anything_is_read(folder: Path) -> None:
    with pytest.raises(CorpusError, match="does not exist"):
        found(folder, folder / "absent.txt")
    with pytest.raises(CorpusError, match="no file matches"):
        found(folder / "*.pdf")
    (folder / "empty").mkdir()
    assert found(folder / "empty") == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes, which Linux and macOS have")
def test_what_is_no_file_is_left_out_and_no_loop_is_walked(folder: Path) -> None:
    os.mkfifo(folder / "sub" / "pipe")
    (folder / "sub" / "gone").symlink_to(folder / "nowhere")
    (folder / "sub" / "loop").symlink_to(folder)
    left = [path for path in found(folder / "sub") if isinstance(path, Skipped)]
    assert [(Path(path).name, why) for path, why in left] == [("gone", "No such file or directory"), ("pipe", "a pipe")]


def test_names_that_are_not_utf8_are_read_too(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_text("text")
    except OSError:
        pytest.skip("needs file names of any bytes, as on Linux")
    (path,) = found(tmp_path)
    assert texts(Path(str(path))) == ["text"]


def test_texts_are_whole_files_and_records(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\n")
    read = sources.read(str(tmp_path / "a.txt"))
    assert isinstance(read, Source)
    assert read.documents == [("one\r\ntwo\n", 0, 3)]
    assert read.path == str(tmp_path / "a.txt")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"body": text}) + "\n\n" for text in ("x", "", "z\ny"))
    read = sources.read(str(tmp_path / "b.jsonl.gz"), field="body")
    assert isinstance(read, Source)
    assert read.documents == [("x", 1, 0), ("", 2, 0), ("z\ny", 3, 0)]
    (tmp_path / "empty").write_bytes(b"")
    assert texts(tmp_path / "empty") == []


def test_the_digest_is_of_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo")
    with gzip.open(tmp_path / "b.gz", "wt") as file:
        file.write("one\ntwo")
    (tmp_path / "c.jsonl").write_text('{"text": "one"}\n{"text": "\\ntwo"}')
    a, b, c = (sources.read(str(tmp_path / name)) for name in ("a.txt", "b.gz", "c.jsonl"))
    assert isinstance(a, Source)
    assert isinstance(b, Source)
    assert isinstance(c, Source)
    assert a.sha256 == b.sha256 != c.sha256


def test_standard_input_is_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a\né".encode())))
    read = sources.read("-")
    assert isinstance(read, Source)
    assert (read.path, read.documents) == ("-", [("a\né", 0, 0)])


def test_what_is_no_text_says_why(tmp_path: Path) -> None:
    for name, data, why in (
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0", "binary: it contains the byte 0"),
        ("utf16.txt", "text".encode("utf-16"), "binary: it contains the byte 0"),
        ("latin.txt", b"caf\xe9", "byte 3 (0xe9) is not UTF-8"),
        ("a.jsonl", b'{"body": "x"}', "no text in the field 'text'"),
        ("b.jsonl", b"[1", "not JSON"),
        ("a.gz", b"no gzip", "cannot be read"),
        ("a.zip", b"PK", "archive of files"),
        ("a.parquet", b"PAR1", ".parquet files cannot be read"),
    ):
        (tmp_path / name).write_bytes(data)
        assert why in reason(tmp_path / name), name
    assert texts(tmp_path / "latin.txt", errors="replace") == ["caf\ufffd"]


def test_what_may_not_be_read_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As the system refuses it; whoever runs the tests may be allowed to read everything.
    def refusing(real: Any) -> Any:
        def call(path: Any, *args: Any, **options: Any) -> Any:
            if str(path).endswith(("b.txt", "deep")):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return real(path, *args, **options)

        return call

    monkeypatch.setattr(os, "scandir", refusing(os.scandir))
    monkeypatch.setattr(paths, "open", refusing(open), raising=False)
    assert reason(folder / "b.txt") == "cannot be read: Permission denied"
    left = [path for path in found(folder) if isinstance(path, Skipped)]
    assert left == [(str(folder / "sub" / "deep"), "Permission denied")]


def test_snippets_are_one_line_of_their_width_where_the_words_are() -> None:
    text = "Nothing here. " * 30 + "The heron\nfishes\tat dawn, and " + "nothing follows. " * 30
    shown = snippet(text, "a HERON at the river", width=60)
    assert "The heron fishes at dawn" in shown
    assert len(shown) <= 62
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    for query in ("", "zebra", "nothing"):
        assert snippet(text, query, width=60).startswith("Nothing here.")
        assert len(snippet(text, query, width=60)) <= 62
    assert snippet("short\ntext", "text") == "short text"
    for long in ("a" * 500, "雪" * 500, "ab " * 300):
        for width in (20, 60, 160):
            assert len(snippet(long, long[-6:], width=width)) <= width + 2


def test_nothing_that_a_terminal_obeys_is_shown() -> None:
    assert printable("\x1b]0;title\x07 a\x9b2J\u202e b") == r"\x1b]0;title\x07 a\x9b2J\u202e b"
