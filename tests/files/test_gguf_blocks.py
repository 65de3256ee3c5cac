"""Blocks of weights in GGUF files, compared with their description and with the format's own library."""

from __future__ import annotations

import numpy as np
import pytest

from reference.gguf_blocks import WEIGHTS
from tokkit.errors import FormatError
from tokkit.files.gguf_blocks import BLOCK_TYPES, BlockType
from tokkit.files.gguf_tensors import WEIGHTS_AT_ONCE, BlockTensor

TYPES = {block.name: block for block in BLOCK_TYPES.values()}
GOLDEN = {
    "Q4_0": (0.75, [1.75, -0.25, 0.25, -0.75, -0.25, 1.75, 0.75]),
    "Q4_1": (58.75, [0.125, 3.125, 0.625, 0.625, 2.125, -0.125, 2.125]),
    "Q5_0": (6.75, [2.75, 2.75, -2.75, -1.75, -0.5, -3.5, 2.75]),
    "Q5_1": (132.75, [7.125, 0.125, 3.625, 5.625, 5.125, 5.875, 7.375]),
    "Q8_0": (-40.0, [-20.25, 25.75, 22.25, -30.75, -5.25, -29.25, 25.25]),
    "Q4_K": (17616.0, [4.875, 53.625, 226.125, 26.875, 14.875, 171.5, 60.125, 107.0]),
    "Q5_K": (34668.0, [8.875, 16.125, 462.125, 46.375, 178.875, 294.0, 136.125, 122.5]),
    "Q6_K": (-2126.0, [-189.75, 46.75, -157.5, -431.25, 131.25, 87.75, 334.75, -255.0]),
}
"""Type → sum and some weights of `golden_block`, as gguf 0.19 (gguf.quants.dequantize) gives them."""
HALVES = {"Q4_1": 2, "Q5_1": 2, "Q4_K": 2, "Q5_K": 2}
"""Types whose blocks begin with two float16; the others have one, Q6_K at its end."""


def with_scales(name: str, blocks: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Blocks (n, bytes) with float16 (n, 2) where scales and minima are."""
    at = 208 if name == "Q6_K" else 0
    n = 2 * HALVES.get(name, 1)
    blocks[:, at : at + n] = scales.astype("<f2").view(np.uint8)[:, :n]
    return blocks


def golden_block(block: BlockType) -> np.ndarray:
    data = np.array([i * i * 37 + i * 11 + 5 & 255 for i in range(block.n_bytes)], dtype=np.uint8)[None]
    return with_scales(block.name, data, np.array([[0.25, -0.125]]))


def random_tensor(name: str, rows: int, blocks: int, seed: int = 0) -> BlockTensor:
    block, rng = TYPES[name], np.random.default_rng(seed)
    data = rng.integers(0, 256, (rows * blocks, block.n_bytes), dtype=np.uint8)
    data = with_scales(name, data, rng.normal(0, 0.01, (len(data), 2)))
    return BlockTensor("w", block, (rows, blocks * block.n_weights), data.reshape(rows, -1))


@pytest.mark.parametrize("name", TYPES)
def test_weights_are_those_of_the_description(name: str) -> None:
    tensor = random_tensor(name, 3, 2)
    expected = [
        weight
        for row in tensor.data
        for block in row.reshape(2, -1)
        for weight in WEIGHTS[name](block.tobytes())
    ]  # fmt: skip
    np.testing.assert_array_equal(tensor.float32(), np.array(expected).reshape(tensor.shape))


@pytest.mark.parametrize("name", TYPES)
def test_weights_are_those_of_the_library_of_the_format(name: str) -> None:
    block = TYPES[name]
    made = BlockTensor("w", block, (1, block.n_weights), golden_block(block)).float32()[0]
    assert (made.sum(dtype=np.float64), made[:: block.n_weights // 8 + 1].tolist()) == GOLDEN[name]


@pytest.mark.parametrize("name", TYPES)
def test_rows_and_parts_are_those_of_the_whole(name: str) -> None:
    rows = 2 * WEIGHTS_AT_ONCE // TYPES[name].n_weights // 3 + 5  # which is not done at once
    tensor = random_tensor(name, rows, 3)
    whole, ids = tensor.float32(), np.array([rows - 1, 0, 7, 7])
    np.testing.assert_array_equal(tensor.rows(ids), whole[ids])
    np.testing.assert_array_equal(tensor.between(2, 9).float32(), whole[2:9])
    assert (len(tensor), tensor.between(2, 9).shape, tensor.dtype) == (rows, (7, whole.shape[1]), name)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scales_that_are_no_numbers_are_refused(name: str, value: float) -> None:
    tensor = random_tensor(name, 4, 2)
    last = tensor.data.reshape(8, -1)[7:]
    with_scales(name, last, np.array([[0.5, value] if name in HALVES else [value, value]]))
    for read in (tensor.float32, lambda: tensor.rows(np.array([3]))):
        with pytest.raises(FormatError, match=f"'w' of {name} has a scale that is NaN or infinite"):
            read()
    assert np.isfinite(tensor.rows(np.array([2]))).all()
