"""Arrays of ids own their memory: it is never shared, and reused once it is freed."""

from __future__ import annotations

import gc
import random

import numpy as np
import pytest

import tokkit
from strategies import adversarial
from tokkit._core.encode.id_blocks import KEPT_BYTES
from tokkit.engine.byte_level import ByteLevelEngine


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train(iter([adversarial(5, 20_000)]), vocab_size=500)


def test_arrays_keep_their_ids_whatever_is_encoded_and_dropped_meanwhile(tok: tokkit.Tokenizer) -> None:
    rng = random.Random(3)
    texts = [
        adversarial(seed, rng.choice([10, 3000, 20_000, 60_000])) + "ab" * rng.choice([0, 9000]) for seed in range(12)
    ]
    expected = [np.array(tok.encode(text), dtype=np.uint32) for text in texts]
    held: dict[int, np.ndarray] = {}
    for _ in range(300):
        number = rng.randrange(len(texts))
        held[number] = tok.encode_to_numpy(texts[number])
        if rng.random() < 0.4:
            held.pop(rng.choice(list(held)))
        assert all(np.array_equal(array, expected[number]) for number, array in held.items())


def test_an_array_may_be_changed_and_outlives_its_tokenizer() -> None:
    tok = tokkit.train(iter(["low lower lowest"]), vocab_size=260)
    text = "lower and lowest " * 4000
    first, second = tok.encode_to_numpy(text), tok.encode_to_numpy(text)
    first[:] = 7
    assert first.flags.writeable
    assert first.dtype == second.dtype == np.uint32
    assert tok.decode(second) == text
    kept = second.copy()
    del tok
    gc.collect()
    assert np.array_equal(second, kept)


def test_memory_that_comes_back_is_bounded_and_used_again(tok: tokkit.Tokenizer) -> None:
    encoder = ByteLevelEngine(tok.definition).encoder
    assert encoder is not None
    text = adversarial(9, 60_000)
    encoder.encode_array(text)
    addresses = [encoder.encode_array(text).ctypes.data for _ in range(8)]
    assert len(set(addresses)) < len(addresses)
    held = [encoder.encode_array(text * 4) for _ in range(60)]
    assert sum(array.nbytes for array in held) > 2 * KEPT_BYTES
    del held
    assert 0 < encoder.pool.kept_bytes <= KEPT_BYTES
