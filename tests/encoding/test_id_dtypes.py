"""Ids as arrays of other dtypes, for programs that do not read uint32."""

from __future__ import annotations

import numpy as np
import pytest

import tokkit
from tokkit.errors import OptionError

TEXTS = ["low lower", "", "lowest low"]


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train(iter(["low lower lowest"] * 3), vocab_size=262)


@pytest.mark.parametrize("dtype", ["int64", np.int32, np.dtype("uint16"), "uint32", ">i4"])
def test_ids_are_of_the_type_that_is_asked_for(tok: tokkit.Tokenizer, dtype: object) -> None:
    ids = tok.encode_to_numpy(TEXTS[0], dtype=dtype)
    batch, offsets = tok.encode_batch(TEXTS, dtype=dtype)
    rows = tok.encode_padded(TEXTS, dtype=dtype)
    assert ids.dtype == batch.dtype == rows.ids.dtype == rows.type_ids.dtype == np.dtype(dtype)
    assert ids.tolist() == tok.encode(TEXTS[0])
    assert offsets.dtype == np.int64
    assert tok.decode_batch((batch.astype(np.uint32), offsets)) == TEXTS


def test_a_batch_for_a_model_is_int64_and_others_uint32(tok: tokkit.Tokenizer) -> None:
    assert tok.encode_padded(TEXTS).ids.dtype == np.int64
    assert tok.encode_to_numpy("low").dtype == tok.encode_batch(TEXTS)[0].dtype == np.uint32


@pytest.mark.parametrize("dtype", ["float32", bool, "text", object, np.int8])
def test_a_type_that_cannot_hold_the_ids_is_an_error(tok: tokkit.Tokenizer, dtype: object) -> None:
    with pytest.raises(OptionError, match="dtype is"):
        tok.encode_to_numpy("lower low", dtype=dtype)
