"""Folders of shards return all tensors, or an error that names file and tensor."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tokkit.errors import FormatError
from tokkit.files.safetensors import write_safetensors
from tokkit.files.sharded import INDEX, WHOLE, read_model, read_sharded

ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
A, B, C = (np.full(n, n, dtype=np.float32) for n in (1, 2, 3))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_safetensors(tmp_path / ONE, {"a": A, "b": B}, {"format": "pt"})
    write_safetensors(tmp_path / TWO, {"c": C})
    index(tmp_path, {"a": ONE, "b": ONE, "c": TWO})
    return tmp_path


def index(folder: Path, weight_map: object) -> None:
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 24}, "weight_map": weight_map}), "utf-8")


def test_shards_are_one_model(folder: Path) -> None:
    for found in (read_model(folder), read_sharded(folder / INDEX)):
        assert {name: tensor.data.tolist() for name, tensor in found.items()} == {"a": [1], "b": [2, 2], "c": [3] * 3}
        assert found.metadata == {"format": "pt"}


def test_one_file_comes_before_an_index(folder: Path) -> None:
    write_safetensors(folder / WHOLE, {"x": A})
    assert list(read_model(folder)) == ["x"]


def test_a_folder_without_either_is_named_with_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"neither model\.safetensors nor .*; it holds nothing"):
        read_model(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80")
    with pytest.raises(FormatError, match=r"it holds pytorch_model\.bin; weights in pickles are not read"):
        read_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "absent")


@pytest.mark.parametrize(
    ("weight_map", "reason"),
    [
        ({}, "weight_map: it names no tensors"),
        ([], "weight_map: an object is needed"),
        ({"a": 1}, r"weight_map\.a: a string is needed"),
        ({"a": "../other.safetensors"}, "'a' is in '../other.safetensors', which is not a file of this folder"),
        ({"a": "/etc/passwd"}, "which is not a file of this folder"),
        ({"a": "C:model.safetensors"}, "which is not a file of this folder"),
        ({"a": "sub\\model.safetensors"}, "which is not a file of this folder"),
        ({"a": ".."}, "which is not a file of this folder"),
        ({"a": ""}, "which is not a file of this folder"),
        ({"a": "x\0"}, "which is not a file of this folder"),
        ({"a": "absent.safetensors"}, "the shard 'absent.safetensors' is missing"),
        ({"a": ONE, "b": ONE, "c": TWO, "d": TWO}, f"{TWO}: no tensor 'd', which {INDEX} says is here"),
        ({"a": ONE, "b": TWO, "c": TWO}, f"{TWO}: no tensor 'b'"),
        ({"a": ONE, "c": TWO}, f"{ONE}: the tensor 'b' is not in {INDEX}"),
        ({"a": INDEX}, "not a .safetensors file"),
        ({"a": "x" * 300}, f"{INDEX}: weight_map: the shard 'xxx.* is missing"),
        ({"a": "é" * 128}, f"{INDEX}: weight_map: the shard 'ééé.* is missing"),
        ({"a": "x" * 10_000}, f"{INDEX}: weight_map: the shard 'xxx.* is missing"),
        ({"a": "\ud800"}, rf"{INDEX}: weight_map: the shard '\\ud800' is missing"),
        ({"a": "\x1b[2J\n\u202e"}, rf"{INDEX}: weight_map: the shard '\\x1b\[2J\\n\\u202e' is missing"),
        ({"\x1b[2J": 1}, rf"{INDEX}: weight_map\.\\x1b\[2J: a string is needed"),
        ({"a": "./" + ONE}, "which is not a file of this folder"),
        ({"a": "a/../" + ONE}, "which is not a file of this folder"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(folder: Path, weight_map: object, reason: str) -> None:
    index(folder, weight_map)
    with pytest.raises(FormatError, match=reason):
        read_model(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="needs file names that Windows forbids: run it on Linux or macOS")
def test_what_a_shard_is_called_is_shown_without_its_control_characters(folder: Path) -> None:
    name = "\x1b[2J\n.safetensors"
    write_safetensors(folder / name, {"a": A})
    index(folder, {"a": ONE, "b": ONE, "c": name})
    with pytest.raises(FormatError, match=r"\\x1b\[2J\\n\.safetensors: no tensor 'c'") as caught:
        read_model(folder)
    assert str(caught.value).isprintable()
    index(folder, {"a": name, "b": ONE, "c": TWO})
    with pytest.raises(FormatError, match=r"the tensor 'a' is in \\x1b\[2J\\n\.safetensors too"):
        read_model(folder)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_folder_that_no_system_has_is_refused(name: str) -> None:
    for read in (read_model, read_sharded):
        with pytest.raises(FormatError, match="is not a path"):
            read(name)


def test_a_tensor_in_two_shards_is_refused(folder: Path) -> None:
    write_safetensors(folder / TWO, {"b": B, "c": C})
    with pytest.raises(FormatError, match=f"{TWO}: the tensor 'b' is in {ONE} too"):
        read_model(folder)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"{", b'{"weight_map": {"a": "b", "a": "c"}}'])
def test_an_index_that_is_none_is_refused(folder: Path, text: bytes) -> None:
    (folder / INDEX).write_bytes(text)
    with pytest.raises(FormatError, match=INDEX):
        read_model(folder)
