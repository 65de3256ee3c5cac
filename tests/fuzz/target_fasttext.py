"""A model of fastText, .bin or .ftz: refused by an error of tokkit, or a model that is written as it was read."""

from __future__ import annotations

import random
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import mutate
from tokkit.embeddings import FastText, TextClassifier
from tokkit.errors import TokkitError

__all__ = ["CHANGE", "check"]

INTEGERS, LONGS = range(0, 56, 4), (76, 84)
"""Where the integers of the header are: magic number, version, options and sizes; and those of eight bytes."""
LARGE = 1e30
"""Sums of larger numbers may be beyond float32."""
WORDS = ("a", "größe", "", "of others", "\0", "东京")


def of_options(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change a number of the header, or the option of another file."""
    if len(data) < 92 or len(other) < 92:
        return mutate.of_bytes(rng, data, other, words)
    at = rng.choice((*INTEGERS, *(64, 68, 72), *LONGS))
    form = "<q" if at in LONGS else "<i"
    size = struct.calcsize(form)
    value = other[at : at + size]
    if rng.random() < 0.8:
        (old,) = struct.unpack_from(form, data, at)
        value = (mutate.number(rng, old) & (1 << 8 * size) - 1).to_bytes(size, "little")
    return data[:at] + value + data[at + size :]


CHANGE = mutate.one_of(of_options, mutate.of_bytes, mutate.of_bytes)


def check_classifier(path: Path, again: Path) -> None:
    model = TextClassifier.load(path)
    labels, probabilities = model.predict(list(WORDS), k=2)
    for of_text in probabilities:
        assert all(0 <= probability < 1.001 for probability in of_text), of_text
    model.save_model(again)
    back = TextClassifier.load(again)
    same = back.predict(list(WORDS), k=2)
    assert same[0] == labels
    assert [list(one) for one in same[1]] == [list(one) for one in probabilities]
    saved = again.read_bytes()
    back.save_model(again)
    assert again.read_bytes() == saved


def check_vectors(path: Path, again: Path) -> None:
    model = FastText.load(path)
    model.save(again)
    back = FastText.load(again)
    large = np.abs(model.data.input).max(initial=0) > LARGE
    for word in WORDS:
        try:
            vector = model.wv.get_vector(word)
        except KeyError:  # a word without n-grams that is not in the vocabulary
            continue
        assert large or np.isfinite(vector).all(), word
        assert back.wv.get_vector(word).tobytes() == vector.tobytes(), word


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "given", Path(folder) / "again"
        path.write_bytes(data)
        for one in (check_classifier, check_vectors):
            try:
                one(path, again)
            except TokkitError:
                continue
