"""The block types of GGUF tensors: bytes → integers with a scale (and often a minimum) per group → float32.

Weights of a row are stored in blocks of 32 or 256. All types have the same form: weight = code * scale - minimum, where
a group of 16 or 32 weights shares scale and minimum; in blocks of 256, these are 6-bit or 8-bit numbers multiplied by a
float16 of the block. Layouts: ggml-org/ggml, docs/gguf.md and the structs of ggml-common.h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[Any]
"""Arrays of uint8; in numpy's stubs, arithmetic with them has a wider type."""
Floats = NDArray[np.float32]


class Groups(NamedTuple):
    """n unpacked blocks: codes int8 (n, groups, weights), scales and, in some types, minima float32 (n, groups)."""

    codes: NDArray[np.int8]
    scales: Floats
    minima: Floats | None

    def float32(self) -> Floats:
        """Return the weights (n, groups, weights)."""
        made = self.codes.astype(np.float32)
        made *= self.scales[:, :, None]
        if self.minima is not None:
            made -= self.minima[:, :, None]
        return made


class BlockType(NamedTuple):
    """A type of block: its name, its numbers of weights, bytes and bits, and the function that unpacks it."""

    name: str
    n_weights: int
    n_bytes: int
    n_bits: int
    has_minima: bool
    groups: Callable[[Bytes], Groups]


def _half(blocks: Bytes, at: int) -> Floats:
    """Return the float16 at a byte of each block (n, 1)."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _nibbles(packed: Bytes, runs: int) -> Bytes:
    """Return the low nibbles, then the high nibbles, of each of `runs` runs of bytes: (n, 2 runs, bytes of a run)."""
    each = packed.reshape(len(packed), runs, 1, -1)
    return np.concatenate([each & 15, each >> 4], axis=2).reshape(len(packed), 2 * runs, -1)


def _signed(codes: Bytes, zero: int) -> NDArray[np.int8]:
    made: NDArray[np.int8] = codes.view(np.int8)
    made -= np.int8(zero)
    return made


def _codes_of_32(blocks: Bytes, at: int) -> Bytes:
    return _nibbles(blocks[:, at:], 1).reshape(len(blocks), 1, 32)


def _codes_of_32_with_high_bits(blocks: Bytes, at: int) -> Bytes:
    high: Bytes = np.unpackbits(blocks[:, at : at + 4], axis=1, bitorder="little")
    made: Bytes = _codes_of_32(blocks, at + 4) | (high << 4)[:, None]
    return made


def _q4_0(blocks: Bytes) -> Groups:
    return Groups(_signed(_codes_of_32(blocks, 2), 8), _half(blocks, 0), None)


def _q4_1(blocks: Bytes) -> Groups:
    return Groups(_codes_of_32(blocks, 4).view(np.int8), _half(blocks, 0), -_half(blocks, 2))


def _q5_0(blocks: Bytes) -> Groups:
    return Groups(_signed(_codes_of_32_with_high_bits(blocks, 2), 16), _half(blocks, 0), None)


def _q5_1(blocks: Bytes) -> Groups:
    return Groups(_codes_of_32_with_high_bits(blocks, 4).view(np.int8), _half(blocks, 0), -_half(blocks, 2))


def _q8_0(blocks: Bytes) -> Groups:
    return Groups(blocks[:, None, 2:].view(np.int8), _half(blocks, 0), None)


def _scales_and_minima(blocks: Bytes) -> tuple[Floats, Floats]:
    """Return scales and minima, both (n, 8), of blocks that begin with two float16 and eight pairs of 6-bit numbers."""
    first, second, third = (blocks[:, at : at + 4] for at in (4, 8, 12))
    scales = np.concatenate([first & 63, (third & 15) | (first >> 6 << 4)], axis=1)
    minima = np.concatenate([second & 63, (third >> 4) | (second >> 6 << 4)], axis=1)
    return _half(blocks, 0) * scales, _half(blocks, 2) * minima


def _q4_k(blocks: Bytes) -> Groups:
    return Groups(_nibbles(blocks[:, 16:], 4).view(np.int8), *_scales_and_minima(blocks))


def _q5_k(blocks: Bytes) -> Groups:
    bit = np.arange(8, dtype=np.uint8)[:, None]
    high = (blocks[:, None, 16:48] >> bit) & 1
    return Groups((_nibbles(blocks[:, 48:], 4) | (high << 4)).view(np.int8), *_scales_and_minima(blocks))


def _q6_k(blocks: Bytes) -> Groups:
    n = len(blocks)
    low = _nibbles(blocks[:, :128], 2).reshape(n, 2, 4, 32)  # four times 32 weights in each half of the block
    shift = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    high: Bytes = (blocks[:, 128:192].reshape(n, 2, 1, 32) >> shift) & 3
    scales = _half(blocks, 208) * blocks[:, 192:208].view(np.int8)
    return Groups(_signed((low | (high << 4)).reshape(n, 16, 16), 32), scales, None)


def halves(type_: BlockType, blocks: Bytes) -> tuple[Bytes, Floats, Floats | None]:
    """Return numbers of four bits as Q4_0 has them (n, groups, 16), scales and minima (n, groups), of a type of these.

    Input i < 16 of a group is the low half of byte i, input i + 16 its high half. Q4_0 has no minima: zero is 8.
    """
    if type_.name == "Q4_0":
        return blocks[:, None, 2:], _half(blocks, 0), None
    if type_.name == "Q4_1":
        return blocks[:, None, 4:], _half(blocks, 0), -_half(blocks, 2)
    # In Q4_K, the two nibbles of a byte belong to neighbouring groups, and a group takes 32 bytes.
    runs = blocks[:, 16:].reshape(-1, 4, 2, 16)
    first, second = runs[:, :, 0], runs[:, :, 1]
    made = np.empty((len(blocks), 4, 2, 16), dtype=np.uint8)
    made[:, :, 0] = (first & 15) | (second << 4)
    made[:, :, 1] = (first >> 4) | (second & 0xF0)
    return made.reshape(-1, 8, 16), *_scales_and_minima(blocks)


BLOCK_TYPES = {
    2: BlockType("Q4_0", 32, 18, 4, False, _q4_0),
    3: BlockType("Q4_1", 32, 20, 4, True, _q4_1),
    6: BlockType("Q5_0", 32, 22, 5, False, _q5_0),
    7: BlockType("Q5_1", 32, 24, 5, True, _q5_1),
    8: BlockType("Q8_0", 32, 34, 8, False, _q8_0),
    12: BlockType("Q4_K", 256, 144, 4, True, _q4_k),
    13: BlockType("Q5_K", 256, 176, 5, True, _q5_k),
    14: BlockType("Q6_K", 256, 210, 6, False, _q6_k),
}
"""Number of a type in the file → the type."""
PLAIN_TYPES = {0: ("F32", "<f4"), 1: ("F16", "<f2"), 28: ("F64", "<f8"), 30: ("BF16", "<u2")}
"""Number of a type without blocks → its name in .safetensors, and numpy's."""
