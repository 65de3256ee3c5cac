"""Files of counts, states, manifests and shards with one wrong bit are refused; the error names the file.

By default some bits of each are drawn; TOKKIT_LONG=1 tries each bit of each.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import LONG
from tokkit.data import Tokens, encode_shards
from tokkit.errors import TokkitError
from tokkit.trainers import CountFiles, build_counts

TEXT = "low lower lowest\nnewer wider\n\nnew low\n"
BITS = 60
"""Bits of a file that are tried."""


def damaged(path: Path) -> Iterator[int]:
    """Give each bit, or some, of a file the other value; the file is whole again in the end."""
    whole = path.read_bytes()
    bits = range(8 * len(whole))
    for bit in bits if LONG or len(bits) <= BITS else random.Random(path.name).sample(bits, BITS):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        yield bit
    path.write_bytes(whole)


def refused(path: Path, read: Callable[[], object], unharmed: object = None) -> list[int]:
    """Return which bits are not noticed: nothing is raised, though what is read is not `unharmed`.

    What is raised must be ours, and name the file, or the manifest that disagrees with it.
    """
    unnoticed = []
    for bit in damaged(path):
        said = ""
        try:
            found = read()
        except TokkitError as error:
            said = str(error)
        if not said and (unharmed is None or found != unharmed):
            unnoticed.append(bit)
        assert not said or path.name in said or "manifest.json" in said, f"bit {bit}: {said}"
    return unnoticed


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "a.txt"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


def test_counts_with_a_wrong_bit_are_refused(shard: Path, tmp_path: Path) -> None:
    (made,) = build_counts(shard, tmp_path / "counts")
    assert not refused(made.path, lambda: tokkit.train(CountFiles(made.path), vocab_size=260))


@pytest.mark.parametrize("model", ["bbpe", "wordpiece", "unigram", "sp-bpe"])
def test_a_state_with_a_wrong_bit_is_refused(model: Any, tmp_path: Path) -> None:
    given: dict[str, Any] = {"model": model, "vocab_size": 262 if model == "bbpe" else 16, "state": tmp_path / "state"}
    given |= {"hard_vocab_limit": False} if model in ("unigram", "sp-bpe") else {}
    words = {"low": 5, "lower": 2, "newer": 3}
    tokkit.train(words, **given)
    assert not refused(tmp_path / "state", lambda: tokkit.train(words, resume=True, **given))


@pytest.mark.parametrize("format", ["bin", "npy", "megatron"])
def test_shards_and_manifests_with_a_wrong_bit_are_refused_or_say_the_same(
    format: Any, shard: Path, tmp_path: Path
) -> None:
    tok = tokkit.train({"low": 3}, vocab_size=258)
    (made,) = encode_shards(tok, shard, tmp_path / "ids", format=format)

    def read() -> tuple[list[int], list[list[int]]]:
        tokens = Tokens(tmp_path / "ids")
        documents = [tokens.document(number).tolist() for number in range(tokens.n_documents)]
        tokens.verify()
        return tokens[:].tolist(), documents

    whole = read()
    for file in made.files:
        assert not refused(file, read)
    # A letter of the path of the shard matters to nobody.
    assert not refused(tmp_path / "ids" / "manifest.json", read, unharmed=whole)
