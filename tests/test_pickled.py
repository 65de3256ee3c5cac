"""Objects that never change are copied for nothing, and pickled by what loads them."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tokkit
from tokkit.compat import tiktoken


def trained() -> tokkit.Tokenizer:
    return tokkit.train(iter(["low lower lowest"]), vocab_size=260)


def test_copies_are_the_object() -> None:
    tok = trained()
    assert copy.copy(tok) is tok
    assert copy.deepcopy([tok, tok])[1] is tok


def test_a_pickle_is_the_object_while_it_is_alive_and_equal_later() -> None:
    tok = trained()
    ids, data = tok.encode("lowest of low"), pickle.dumps(tok)
    assert pickle.loads(data) is tok
    assert pickle.loads(pickle.dumps([tok, trained()]))[1] is not tok
    del tok
    gc.collect()
    again = pickle.loads(data)
    assert again.encode("lowest of low") == ids
    assert pickle.loads(pickle.dumps(again)) is again


def test_a_pickle_is_loaded_in_another_process(tmp_path: Path) -> None:
    tok = trained()
    (tmp_path / "tok.pickle").write_bytes(pickle.dumps(tok))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).encode('lowest'))"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "tok.pickle")], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(tok.encode("lowest"))


def test_an_object_can_be_recalled_by_a_call() -> None:
    tok = trained()
    tok.recalled_by(int, "7")
    assert pickle.loads(pickle.dumps(tok)) == 7


def test_a_path_that_was_given_later_is_pickled_too(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of an encoding that was first found by itself may not be found so where the pickle is loaded."""
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(shared / "vocabs"))
    found = tokkit.get_encoding("r50k_base")
    monkeypatch.delenv("TOKKIT_DATA_DIR")
    assert tokkit.get_encoding("r50k_base", path=shared / "vocabs") is found
    assert pickle.loads(pickle.dumps(found)) is found


def test_published_encodings_are_pickled_by_name(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shared / "vocabs"
    of_path = tokkit.get_encoding("r50k_base", path=folder)
    assert pickle.loads(pickle.dumps(of_path)) is of_path
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(folder))
    enc = tiktoken.get_encoding("p50k_base")
    data = pickle.dumps(enc)
    assert len(data) < 150
    assert pickle.loads(data) is enc
    tok = tokkit.get_encoding("p50k_base")
    assert len(pickle.dumps(tok)) < 150
    assert pickle.loads(pickle.dumps(tok)) is tok
    assert enc.token_byte_values() == sorted(enc._mergeable_ranks)
    enc.token_byte_values().clear()
    assert len(enc.token_byte_values()) == 50280
