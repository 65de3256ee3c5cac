"""What `tokkit truncate` keeps of texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tokkit

if TYPE_CHECKING:
    from conftest import Run

TEXT = "low lower 東京 naïve 🙂👩‍👩‍👧 newer\r\n\n<|end|> wider"


def test_the_longest_prefix_that_fits_is_kept_whatever_the_limit(run: Run, tokenizer: str) -> None:
    tok = tokkit.load(tokenizer)
    Path("a.txt").write_bytes(TEXT.encode())
    for limit in range(tok.count(TEXT) + 2):
        out = run("truncate", tokenizer, "a.txt", "--limit", limit)
        kept, n_tokens = tok.truncate(TEXT, limit)
        assert (out.exit_code, out.stdout_bytes) == (0, kept.encode())
        assert n_tokens == tok.count(kept) <= limit
        part = "all of it" if kept == TEXT else f"{len(kept.encode())} of {len(TEXT.encode())} bytes"
        assert out.stderr == f"tokkit: kept {n_tokens} token{'' if n_tokens == 1 else 's'}: {part}\n"
    assert kept == TEXT


def test_stdin_is_read_and_a_file_written(run: Run, tokenizer: str) -> None:
    args = ("truncate", tokenizer, "--limit", 3, "-o", "b.txt")
    assert run(*args, input=TEXT).stdout == ""
    kept = tokkit.load(tokenizer).truncate(TEXT, 3)[0]
    assert Path("b.txt").read_bytes() == kept.encode()
    out = run(*args, input=TEXT)
    assert out.exit_code == 1
    assert "--force" in out.stderr
    assert run(*args, "--force", input="").stderr == "tokkit: kept 0 tokens: all of it\n"
    assert Path("b.txt").read_bytes() == b""


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["a.txt"], 2, "Missing option '--limit'"),
        (["a.txt", "--limit", "-1"], 2, "--limit"),
        (["a.txt", "--limit", "many"], 2, "--limit"),
        (["absent.txt", "--limit", "5"], 1, "absent.txt"),
        (["a.jsonl", "--limit", "5"], 2, "a.jsonl holds many texts"),
        (["bad.txt", "--limit", "5"], 1, "byte 3 (0xff) is not UTF-8; use --input-errors"),
        (["a.txt", "--limit", "5", "--special", "raise"], 1, "<|end|>"),
    ],
)
def test_what_cannot_be_cut_is_an_error_that_says_why(
    run: Run, tokenizer: str, args: list[str], code: int, said: str
) -> None:
    Path("a.txt").write_bytes(TEXT.encode())
    Path("a.jsonl").write_text('{"text": "low"}\n')
    Path("bad.txt").write_bytes(b"low\xff")
    out = run("truncate", tokenizer, *args)
    assert (out.exit_code, out.stdout) == (code, "")
    assert said in out.stderr
