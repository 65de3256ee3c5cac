"""Vectors that stay in their .bin file equal a copy; a file that changes is an error."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from tokkit._core.embed.vector_file import copy_rows
from tokkit.embeddings import KeyedVectors
from tokkit.embeddings.formats import reading, rows_in_file
from tokkit.errors import FormatError

pytestmark = pytest.mark.skipif(not rows_in_file.IS_POSSIBLE, reason="vectors stay in files where preadv is")
N, D = 300, 5
KEYS = [f"word{'x' * (i % 7)}{i}" for i in range(N)]
VECTORS = np.random.default_rng(1).standard_normal((N, D)).astype(np.float32)


@pytest.fixture(autouse=True)
def large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reading, "IN_FILE", 1)
    KeyedVectors.of(KEYS, VECTORS).save_word2vec_format("v.bin", binary=True)


def in_file(words: KeyedVectors) -> bool:
    return words._in_file is not None


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 1 << 20])
def test_single_vectors_and_the_matrix_are_those_of_a_copy(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHECKED", max(chunk, 64))  # a record is shorter
    monkeypatch.setattr(rows_in_file, "CHUNK", chunk)
    words = KeyedVectors.load("v.bin")
    copied = KeyedVectors.load("v.bin", mmap=None)
    assert not in_file(copied)
    for key in KEYS[::150]:
        np.testing.assert_array_equal(words[key], copied[key])
        np.testing.assert_array_equal(words.get_vector(key, norm=True), copied.get_vector(key, norm=True))
        assert not words[key].flags.writeable
    assert words.similarity(KEYS[1], KEYS[2]) == copied.similarity(KEYS[1], KEYS[2])
    assert words.doesnt_match(KEYS[:4]) == copied.doesnt_match(KEYS[:4])
    assert in_file(words)
    np.testing.assert_array_equal(words.vectors, VECTORS)
    assert not in_file(words)
    assert words.most_similar(KEYS[3]) == copied.most_similar(KEYS[3])
    words[KEYS[3]] = np.ones(D)
    assert words[KEYS[3]].tolist() == [1] * D


def test_many_single_vectors_bring_the_matrix() -> None:
    words = KeyedVectors.load("v.bin")
    for key in KEYS:
        words.get_vector(key)
    assert not in_file(words)


def test_the_original_s_line_ends_limits_and_keys_given_twice() -> None:
    keys = [*KEYS[:5], KEYS[2], *KEYS[5:]]
    rows = np.vstack((VECTORS[:5], VECTORS[9:10], VECTORS[5:]))
    records = [f"{key} ".encode() + row.tobytes() + b"\n" for key, row in zip(keys, rows, strict=True)]
    Path("w.bin").write_bytes(f"{N + 1} {D}\n".encode() + b"".join(records))
    words = KeyedVectors.load("w.bin", duplicates="first")
    assert in_file(words)
    assert words.index_to_key == KEYS
    np.testing.assert_array_equal(words[KEYS[-1]], VECTORS[-1])
    np.testing.assert_array_equal(words.vectors, VECTORS)
    some = KeyedVectors.load_word2vec_format("v.bin", binary=True, limit=3)
    assert in_file(some)
    assert some.index_to_key == KEYS[:3]
    np.testing.assert_array_equal(some.vectors, VECTORS[:3])
    half = KeyedVectors.load_word2vec_format("v.bin", binary=True, datatype=np.float16)
    assert half.vectors.dtype == np.float16


def test_pickles_and_copies_have_the_vectors() -> None:
    for made in (pickle.loads(pickle.dumps(KeyedVectors.load("v.bin"))), copy.deepcopy(KeyedVectors.load("v.bin"))):
        Path("v.bin").unlink(missing_ok=True)
        np.testing.assert_array_equal(made.vectors, VECTORS)
        KeyedVectors.of(KEYS, VECTORS).save_word2vec_format("v.bin", binary=True)


def test_a_file_that_is_deleted_or_replaced_is_still_read() -> None:
    words = KeyedVectors.load("v.bin")
    KeyedVectors.of(KEYS, -VECTORS).save_word2vec_format("v.bin", binary=True)
    np.testing.assert_array_equal(words[KEYS[7]], VECTORS[7])
    Path("v.bin").unlink()
    np.testing.assert_array_equal(words.vectors, VECTORS)


@pytest.mark.parametrize("size", [0, 1000, 1_000_000])
def test_a_file_that_is_overwritten_is_an_error(size: int) -> None:
    words = KeyedVectors.load("v.bin")
    os.truncate("v.bin", size)
    with pytest.raises(FormatError, match=r"v\.bin has been changed since it was loaded"):
        words.get_vector(KEYS[-1])
    with pytest.raises(FormatError, match=r"v\.bin has been changed since it was loaded"):
        words.most_similar(KEYS[0])


def test_numbers_that_are_not_finite_are_found_when_loading() -> None:
    data = bytearray(Path("v.bin").read_bytes())
    data[-4:] = np.float32("nan").tobytes()
    Path("v.bin").write_bytes(data)
    with pytest.raises(FormatError, match=f"vector {N}: a number is NaN"):
        KeyedVectors.load("v.bin")


def test_rows_outside_of_the_data_are_refused() -> None:
    rows = np.zeros((1, 2), dtype=np.float32)
    copy_rows(bytes(8), np.array([0]), rows)
    for start in (-1, 1, 1 << 62):
        with pytest.raises(ValueError, match="must lie within"):
            copy_rows(bytes(8), np.array([start]), rows)
    with pytest.raises(ValueError, match="must lie within"):
        copy_rows(bytes(8), np.array([0, 0]), rows)
