"""`tokkit chunk`: the lines it prints for texts and sizes."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

import tokkit
from tokkit.chunks import At, chunk
from tokkit.cli.chunk import AT

if TYPE_CHECKING:
    from conftest import Run, Start

TEXT = "# low\nlower 東京 naïve 🙂 newer\r\n\n## wider\n<|end|> new\x1b[1m low\n" * 9


def expected(tokenizer: str, file: str, text: str = TEXT, **options: object) -> list[dict[str, object]]:
    found = chunk(text, tokkit.load(tokenizer), **options)  # type: ignore[arg-type]
    return [{"text": part, "start": start, "end": end, "tokens": n, "file": file} for part, start, end, n in found]


def lines(printed: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in printed.splitlines()]


def test_each_chunk_is_a_line_of_json(run: Run, tokenizer: str) -> None:
    Path("a.txt").write_bytes(TEXT.encode())
    Path("b.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    out = run("chunk", tokenizer, "a.txt", "b.txt.gz", "--tokens", 20, "--overlap", 5, "--at", "markdown")
    assert out.exit_code == 0
    options = {"tokens": 20, "overlap": 5, "at": "markdown"}
    assert lines(out.stdout) == [row for name in ("a.txt", "b.txt.gz") for row in expected(tokenizer, name, **options)]
    assert "\x1b" not in out.stdout


def test_stdin_is_read_and_a_file_written(run: Run, tokenizer: str) -> None:
    assert lines(run("chunk", tokenizer, input=TEXT).stdout) == expected(tokenizer, "-")
    args = ("chunk", tokenizer, "-", "-o", "out.jsonl")
    assert run(*args, input="low").stdout == ""
    assert lines(Path("out.jsonl").read_text()) == expected(tokenizer, "-", "low")
    out = run(*args, input="low")
    assert (out.exit_code, "--force" in out.stderr) == (1, True)
    assert run(*args, "--force", input="").exit_code == 0
    assert Path("out.jsonl").read_bytes() == b""


def test_records_are_cut_one_by_one(run: Run, tokenizer: str) -> None:
    Path("a.jsonl").write_text('{"body": "low lower"}\n\n{"body": ""}\n{"body": "new newer wider low lowest"}\n')
    out = run("chunk", tokenizer, "a.jsonl", "--field", "body", "--tokens", 8)
    found = lines(out.stdout)
    assert {row["record"] for row in found} == {1, 3}
    assert [row["text"] for row in found if row["record"] == 1] == ["low lower"]


def test_all_pauses_can_be_named() -> None:
    assert get_args(At) == AT


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["a.txt", "--tokens", "7"], 1, "tokens is 7; it must be at least 8"),
        (["a.txt", "--overlap", "300"], 1, "overlap is 300; for chunks of 512 tokens it must be from 0 to 256"),
        (["a.txt", "--at", "page"], 2, "'page' is not one of"),
        (["absent.txt"], 1, "absent.txt does not exist"),
        (["bad.txt"], 1, "bad.txt: byte 3 (0xff) is not UTF-8; use --input-errors replace or ignore"),
        (["a.txt", "-o", "a.txt", "--force"], 2, "a.txt"),
    ],
)
def test_errors_say_what_is_wrong(run: Run, tokenizer: str, args: list[str], code: int, said: str) -> None:
    Path("a.txt").write_text("low")
    Path("bad.txt").write_bytes(b"low\xff")
    out = run("chunk", tokenizer, *args)
    assert (out.exit_code, out.stdout) == (code, "")
    assert said in out.stderr


def test_a_reader_that_has_gone_ends_it_quietly(start: Start, tokenizer: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT * 2000)
    process = start("chunk", tokenizer, "a.txt", "--tokens", 8, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 141
