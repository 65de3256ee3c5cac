"""Small causal language models: folders with random weights and a tokenizer that was trained here."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tokkit
from tokkit import nn
from tokkit.formats.safetensors import write_safetensors
from tokkit.pipeline import decoder_families
from tokkit.pipeline.decoder_families import DecoderSpec

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 2, "intermediate_size": 48, "vocab_size": 320, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "eos_token_id": 300,
}  # fmt: skip


@cache
def tokenizer() -> tokkit.Tokenizer:
    return tokkit.train(
        iter(["the cat sat on the mat; the dog sat on the log; naïve 🦜🦜 東京 is far away"] * 5), vocab_size=300
    ).with_special_tokens({"<|end|>": 300, "<|user|>": 301, "<|model|>": 302})


def tensors(spec: DecoderSpec, seed: int = 0, std: float = 0.3) -> dict[str, np.ndarray]:
    """Random weights by the names of the file, of a family that joins none."""
    made = {}
    for ours, weight in nn.initial(spec.config.shapes(), seed=seed, std=std).items():
        name, part = spec.source(ours)
        assert not part
        made[name if ours.startswith("head.") else spec.family.prefixes[0] + name] = weight
    return made


def folder(path: Path, *, seed: int = 0, **config: Any) -> Path:
    """Write a model's folder and return it."""
    path.mkdir(parents=True, exist_ok=True)
    stated = {**LLAMA, **config}
    (path / "config.json").write_text(json.dumps(stated))
    write_safetensors(path / "model.safetensors", tensors(decoder_families.read(stated), seed), overwrite=True)
    tokenizer().save(path / "tokenizer.json", overwrite=True)
    return path
