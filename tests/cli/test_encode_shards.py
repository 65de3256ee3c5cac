"""`tokkit encode-shards` writes files of ids and a manifest, and each shard once."""

from __future__ import annotations

import json
from pathlib import Path

import tokkit
from tokkit.data import Tokens


def test_shards_are_encoded_once_and_read_by_tokens(tokenizer: str, tmp_path: Path, run) -> None:
    (tmp_path / "data").mkdir()
    for n in range(2):
        (tmp_path / "data" / f"{n}.txt").write_text(f"low lower\nnewer {n}\n")
    call = ("encode-shards", "data", "-o", "ids", "--tokenizer", tokenizer, "--eos", "<|end|>", "--bos", "5")
    tok = tokkit.load(tokenizer)
    n = sum(len(tok.encode(text)) + 2 for text in ("low lower\n", "newer 0\n", "low lower\n", "newer 1\n"))
    assert run(*call).stdout == f"2 shards encoded: {n} ids of 4 documents\n"
    made = json.loads(run(*call, "--json").stdout)
    assert [m["encoded"] for m in made] == [False, False]
    assert sum(m["tokens"] for m in made) == n
    wanted = [5, *tok.encode("low lower\n"), tok.special_tokens["<|end|>"]]
    assert Tokens("ids").document(2).tolist() == wanted
    other = run(*call[:-2], "--pack", "best-fit", "--seq-len", "8")
    assert other.exit_code == 1
    assert "choose another folder" in other.stderr
    assert run(*call[:3], "rows", *call[4:], "--pack", "best-fit", "--seq-len", "16").exit_code == 0
    wrong = run(*call[:3], "wrong", *call[4:-4], "--eos", "<|none|>")
    assert wrong.exit_code == 1
    assert "Traceback" not in wrong.stderr


def test_options_of_packed_rows_are_asked_for_by_their_flags(tokenizer: str, tmp_path: Path, run) -> None:
    (tmp_path / "a.txt").write_text("low lower\n")
    call = ("encode-shards", "a.txt", "-o", "ids", "--tokenizer", tokenizer)
    for more, message in (
        (("--pad", "3"), "--seq-len and --pad are for packed rows; add --pack"),
        (("--seq-len", "8"), "--seq-len and --pad are for packed rows; add --pack"),
        (("--pack", "best-fit"), "add --seq-len"),
        (("--pack", "best-fit", "--seq-len", "8"), "add --pad or --eos"),
    ):
        wrong = run(*call, *more)
        assert wrong.exit_code == 2
        assert message in wrong.stderr
    assert not (tmp_path / "ids").exists()
