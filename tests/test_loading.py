"""`load` with the names of published encodings and models, and its errors for unknown names."""

from __future__ import annotations

from pathlib import Path

import pytest

import tokkit
from tokkit.errors import DownloadError


@pytest.mark.parametrize("name", ["cl100k_base", "gpt-4", "gpt-3.5-turbo-0301"])
def test_names_of_encodings_and_of_models_load(name: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(shared / "vocabs"))
    assert tokkit.load(name).fingerprint() == tokkit.get_encoding("cl100k_base").fingerprint()
    with_more = tokkit.load(name, special_tokens={"<|mine|>": 100300})
    assert with_more.encode("<|mine|>", special="all") == [100300]


def test_a_name_whose_file_is_not_here_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TOKKIT_DATA_DIR", "TIKTOKEN_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DownloadError, match="tokkit fetch o200k_base downloads it"):
        tokkit.load("gpt-4o")


def test_what_is_neither_a_file_nor_a_name_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gpt-9 is neither a file nor a published encoding or model.*gpt-"):
        tokkit.load("gpt-9")
    for path in ("none.json", tmp_path / "none", str(tmp_path / "none")):
        with pytest.raises(FileNotFoundError):
            tokkit.load(path)
    with pytest.raises(FileNotFoundError):
        tokkit.load("gpt-4", pattern="gpt2")


def test_a_file_of_that_name_is_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    tok = tokkit.train(iter(["low lower"]), vocab_size=258)
    tok.save("gpt-4", format="tokenizer.json")
    assert tokkit.load("gpt-4").fingerprint() == tok.fingerprint()
