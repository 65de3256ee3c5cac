"""`tokkit fetch`, and commands that take names of encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run


def test_fetch_says_where_a_file_is_that_is_there_already(run: Run, shared: Path) -> None:
    out = run("fetch", "r50k_base", "gpt2", "--folder", shared / "vocabs")
    assert out.exit_code == 0
    path = shared / "vocabs" / "r50k_base.tiktoken"
    assert out.stdout == f"r50k_base  {path}\ngpt2  {path}\n"
    out = run("fetch", "gpt-4", "--folder", shared / "vocabs", "--json")
    assert json.loads(out.stdout) == [{"name": "gpt-4", "file": str(shared / "vocabs" / "cl100k_base.tiktoken")}]


def test_fetch_without_a_name_or_with_a_wrong_one_says_which_there_are(run: Run) -> None:
    out = run("fetch")
    assert out.exit_code == 2
    assert "o200k_harmony" in out.stderr
    out = run("fetch", "gtp-4o")
    assert out.exit_code == 1
    assert "did you mean gpt-4o" in out.stderr


def test_offline_fetch_is_a_failure_that_names_the_switch(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOKKIT_OFFLINE", "1")
    out = run("fetch", "cl100k_base", "--folder", tmp_path)
    assert out.exit_code == 1
    assert "TOKKIT_OFFLINE=1 forbids" in out.stderr
    assert not list(tmp_path.iterdir())


def test_commands_take_names_of_encodings_and_models(run: Run, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(shared / "vocabs"))
    for name in ("cl100k_base", "gpt-4"):
        assert run("encode", name, input="Hello, world!").stdout == "9906 11 1917 0\n"
    out = run("count", "cl10k_base", input="x")
    assert out.exit_code == 1
    assert "did you mean cl100k_base" in out.stderr
