"""Files are split into chunks in constant memory."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

import tokkit
from tokkit.chunks import At, chunk, chunk_file, chunking
from tokkit.corpus import readers
from tokkit.errors import CorpusError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = "# Être\n\nOne of it. 雪が降る。\n```\nx = 1\n```\n🙂 and more.\n\n\n" * 60


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train(iter([TEXT]), vocab_size=300)


@pytest.mark.parametrize("at", get_args(At))
def test_a_file_has_the_chunks_of_its_text(
    tok: tokkit.Tokenizer, at: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    monkeypatch.setattr(chunking, "WINDOW", 500)
    expected = list(chunk(TEXT, tok, tokens=64, overlap=9, at=at))
    for block in (1, 7, 1000, 1 << 20):
        monkeypatch.setattr(readers, "BLOCK_BYTES", block)
        for name in ("a.txt", "b.txt.gz"):
            assert list(chunk_file(tmp_path / name, tok, tokens=64, overlap=9, at=at)) == expected


def test_memory_does_not_grow_with_the_file(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    def peak(times: int) -> int:
        path = tmp_path / f"{times}.txt"
        path.write_text(TEXT * times, encoding="utf-8")
        tracemalloc.start()
        try:
            assert sum(1 for _ in chunk_file(path, tok, tokens=2048)) > times // 2
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)
    assert peak(1600) < 1.2 * peak(400)


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda tok: chunk_file("bad.txt", tok), CorpusError, r"bad\.txt: byte 5 \(0xff\) is not UTF-8"),
        (lambda tok: chunk_file("cut.txt", tok), CorpusError, r"cut\.txt: byte 2 \(0xe9\) is not UTF-8"),
        (lambda tok: chunk_file("a.jsonl", tok), CorpusError, r"a\.jsonl holds records"),
        (lambda tok: chunk_file("absent", tok), CorpusError, "absent does not exist"),
        (lambda tok: chunk_file("bad.txt", tok, input_errors="no"), OptionError, "input_errors is 'no'"),
        (lambda tok: chunk_file("bad.txt", tok, tokens=1), OptionError, "tokens is 1"),
    ],
)
def test_files_that_cannot_be_read_are_errors(
    tok: tokkit.Tokenizer,
    call: Callable[[tokkit.Tokenizer], Any],
    error: type[Exception],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(readers, "BLOCK_BYTES", 3)
    Path("bad.txt").write_bytes("aé b".encode() + b"\xff c")
    Path("cut.txt").write_bytes(b"a \xe9\x9b")
    Path("a.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(error, match=reason):
        list(call(tok))


def test_invalid_utf8_is_replaced_or_left_out(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"one \xff two")
    assert [part.text for part in chunk_file(path, tok, input_errors="replace")] == ["one \ufffd two"]
    assert [part.text for part in chunk_file(path, tok, input_errors="ignore")] == ["one  two"]
