"""The weights of one block of each type of GGUF, number by number, as the layouts are described."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

f32 = np.float32


def half(block: bytes, at: int) -> np.float32:
    return f32(struct.unpack_from("<e", block, at)[0])


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def of_32(block: bytes, *, zero: int, minimum: bool, high: bool) -> list[np.float32]:
    """Four or five bits a weight: weight j is the low half of byte j, weight j + 16 its high half."""
    at = 4 if minimum else 2
    bits = int.from_bytes(block[at : at + 4], "little") if high else 0
    codes = block[at + 4 * high :]
    made = []
    for j in range(32):
        code = (codes[j % 16] & 15 if j < 16 else codes[j % 16] >> 4) + (bits >> j & 1) * 16
        made.append(f32(code - zero) * half(block, 0) + (half(block, 2) if minimum else f32(0)))
    return made


def q8_0(block: bytes) -> list[np.float32]:
    return [half(block, 0) * f32(signed(byte)) for byte in block[2:]]


def scale_and_minimum(block: bytes, group: int) -> tuple[np.float32, np.float32]:
    """Six bits each, in 12 bytes: those of the last four groups have their two high bits with the first four."""
    packed = block[4:16]
    if group < 4:
        scale, minimum = packed[group] & 63, packed[group + 4] & 63
    else:
        scale = (packed[group + 4] & 15) + (packed[group - 4] >> 6) * 16
        minimum = (packed[group + 4] >> 4) + (packed[group] >> 6) * 16
    return half(block, 0) * f32(scale), half(block, 2) * f32(minimum)


def of_256(block: bytes, *, high: bool) -> list[np.float32]:
    """Groups 0 and 1 are the low and the high halves of the first 32 bytes, and so on."""
    made = []
    for j in range(256):
        group, place = j // 32, j % 32
        byte = block[(48 if high else 16) + group // 2 * 32 + place]
        code = byte >> 4 if group % 2 else byte & 15
        code += (block[16 + place] >> group & 1) * 16 if high else 0
        scale, minimum = scale_and_minimum(block, group)
        made.append(scale * f32(code) - minimum)
    return made


def q6_k(block: bytes) -> list[np.float32]:
    """Each half of 128 weights has 64 bytes of low halves, and 32 bytes with two more bits of four weights each."""
    made = []
    for j in range(256):
        in_half = j % 128
        byte = block[j // 128 * 64 + in_half % 64]
        low = byte >> 4 if in_half >= 64 else byte & 15
        high = block[128 + j // 128 * 32 + in_half % 32] >> in_half // 32 * 2 & 3
        made.append(half(block, 208) * f32(signed(block[192 + j // 16])) * f32(low + high * 16 - 32))
    return made


WEIGHTS: dict[str, Callable[[bytes], list[np.float32]]] = {
    "Q4_0": lambda block: of_32(block, zero=8, minimum=False, high=False),
    "Q4_1": lambda block: of_32(block, zero=0, minimum=True, high=False),
    "Q5_0": lambda block: of_32(block, zero=16, minimum=False, high=True),
    "Q5_1": lambda block: of_32(block, zero=0, minimum=True, high=True),
    "Q8_0": q8_0, "Q6_K": q6_k,
    "Q4_K": lambda block: of_256(block, high=False), "Q5_K": lambda block: of_256(block, high=True),
}  # fmt: skip
