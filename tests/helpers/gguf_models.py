"""Writes small causal language models as GGUF files, with each architecture's usual names and layouts."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import generators
from gguf_files import ARRAY, BOOL, F32, I32, STRING, U32, Stored, Typed, text, value_bytes, with_data
from tokkit.files.gguf_blocks import BLOCK_TYPES

Weights = Mapping[str, np.ndarray]
PLAIN = {"F32": 0, "F16": 1, "BF16": 30}
BLOCKS = {block.name: (kind, block) for kind, block in BLOCK_TYPES.items()}
NAMES = {
    "word": "token_embd", "position": "position_embd", "embedding_norm": "token_embd_norm", "norm": "output_norm",
    "head": "output", "attention.q": "attn_q", "attention.k": "attn_k", "attention.v": "attn_v",
    "attention.o": "attn_output", "feed_forward.gate": "ffn_gate", "feed_forward.up": "ffn_up",
    "feed_forward.down": "ffn_down", "attention_norm": "attn_norm", "feed_forward_norm": "ffn_norm",
    "q_norm": "attn_q_norm", "k_norm": "attn_k_norm", "attended_norm": "post_attention_norm",
    "forwarded_norm": "post_ffw_norm", "router": "ffn_gate_inp", "shared_gate": "ffn_gate_inp_shexp",
    **{f"{whose}.{part}": f"ffn_{part}_{end}" for part in ("gate", "up", "down")
       for whose, end in (("experts", "exps"), ("shared", "shexp"))},
}  # fmt: skip


def name(ours: str) -> str:
    stem, _, kind = ours.rpartition(".")
    if not stem.startswith("layers."):
        return f"{NAMES[stem]}.{kind}"
    _, number, part = stem.split(".", 2)
    return f"blk.{number}.{NAMES[part]}.{kind}"


def plain(array: np.ndarray, kind: str = "F32") -> Stored:
    """A tensor whose numbers stand alone; bfloat16 cuts what it has no bits for."""
    array = np.asarray(array, dtype=np.float32)
    bits = {"F32": array, "F16": array.astype("<f2"), "BF16": (array.view(np.uint32) >> 16).astype("<u2")}[kind]
    return Stored(PLAIN[kind], array.shape, bits.tobytes())


def random_blocks(kind: str, shape: tuple[int, int], rng: np.random.Generator, std: float = 0.3) -> Stored:
    """A matrix of random blocks whose weights are about as great as `std`."""
    number, block = BLOCKS[kind]
    data = rng.integers(0, 256, (shape[0] * shape[1] // block.n_weights, block.n_bytes), dtype=np.uint8)
    at = 208 if kind == "Q6_K" else 0
    unit = std / {"Q4_0": 4, "Q4_1": 4, "Q5_0": 8, "Q5_1": 8, "Q8_0": 64, "Q4_K": 256, "Q5_K": 512, "Q6_K": 1024}[kind]
    scales = rng.uniform(0.5, 1.5, (len(data), 2)) * unit
    if kind in ("Q4_1", "Q5_1", "Q4_K", "Q5_K"):
        scales[:, 1] *= {"Q4_1": -8, "Q5_1": -16, "Q4_K": 8, "Q5_K": 16}[kind]
        data[:, 2:4] = scales[:, 1:].astype("<f2").view(np.uint8)
    data[:, at : at + 2] = scales[:, :1].astype("<f2").view(np.uint8)
    return Stored(number, shape, data.tobytes())


def interleaved(rows: np.ndarray, n_heads: int) -> np.ndarray:
    """Rows of queries or keys in the order of files of the architecture llama: i beside i + half of its head."""
    return rows.reshape(n_heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def joined(parts: list[Stored]) -> Stored:
    shape = (sum(part.shape[0] for part in parts), *parts[0].shape[1:])
    return Stored(parts[0].kind, shape, b"".join(part.data for part in parts))


def stacked(parts: list[Stored]) -> Stored:
    """Matrices of one shape as one tensor of three axes."""
    return Stored(parts[0].kind, (len(parts), *parts[0].shape), b"".join(part.data for part in parts))


@cache
def vocabulary() -> tuple[int, bytes]:
    """The keys of the tokenizer of `generators`, how many and their bytes, without that of the architecture."""
    with tempfile.TemporaryDirectory() as folder:
        generators.tokenizer().save(Path(folder) / "v.gguf")
        data = (Path(folder) / "v.gguf").read_bytes()
    first = text("general.architecture") + value_bytes(U32, STRING) + text("gpt2")
    assert data[24:].startswith(first)
    return int.from_bytes(data[16:24], "little") - 1, data[24 + len(first) :]


def typed(value: Any) -> Typed:
    if isinstance(value, list):
        return Typed(ARRAY, value, {bool: BOOL, int: I32, str: STRING}[type(value[0])])
    return Typed({bool: BOOL, int: U32, float: F32, str: STRING}[type(value)], value)


def model(architecture: str, keys: Mapping[str, Any], tensors: Mapping[str, Stored]) -> bytes:
    """A file with the tokenizer of `generators`; keys other than tokenizer.* and general.* are the architecture's."""
    whole = ("tokenizer.", "general.")
    own = {"general.architecture": architecture}
    own |= {key if key.startswith(whole) else f"{architecture}.{key}": value for key, value in keys.items()}
    n, body = vocabulary()
    for key, value in own.items():
        body += text(key) + value_bytes(U32, typed(value).kind) + value_bytes(*typed(value))
    return with_data(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), n + len(own)) + body, tensors)
