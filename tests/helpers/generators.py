"""Small language models: folders with random weights and a tokenizer that was trained here."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tokkit
from tokkit import nn
from tokkit.files.safetensors import write_safetensors
from tokkit.pipeline import decoder_families, seq2seq_families
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


T5: dict[str, Any] = {
    "model_type": "t5", "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 320,
    "feed_forward_proj": "gated-gelu", "pad_token_id": 0, "eos_token_id": 300,
}  # fmt: skip
BART: dict[str, Any] = {
    "model_type": "bart", "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 40, "max_position_embeddings": 64,
    "vocab_size": 320, "pad_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 300, "forced_bos_token_id": 9,
    "forced_eos_token_id": 300,
}  # fmt: skip


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


def seq2seq_folder(path: Path, kind: dict[str, Any] = T5, *, seed: int = 0, **config: Any) -> Path:
    """Write the folder of an encoder–decoder and return it."""
    path.mkdir(parents=True, exist_ok=True)
    stated = {**kind, **config}
    spec = seq2seq_families.read(stated)
    made = tensors(spec.encoder, seed) | tensors(spec.decoder, seed + 1)
    (path / "config.json").write_text(json.dumps(stated))
    write_safetensors(path / "model.safetensors", made, overwrite=True)
    tokenizer().save(path / "tokenizer.json", overwrite=True)
    # Without a class, the one of the model type would put its own tokens around texts.
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    return path


def embedder(path: Path, *, pooling: str = "lasttoken", **config: Any) -> Path:
    """Write a decoder's folder that says how to make vectors, as sentence-transformers does, and return it."""
    folder(path, **config)
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [{"idx": i, "name": str(i), "path": at, "type": f"sentence_transformers.models.{kind}"}
               for i, (kind, at) in enumerate(kinds.items())]  # fmt: skip
    prompts = {"query": "the dog asks: ", "document": ""}
    (path / "1_Pooling").mkdir(exist_ok=True)
    for name, value in (("modules", modules), ("1_Pooling/config", {"pooling_mode": pooling}),
                        ("config_sentence_transformers", {"prompts": prompts})):  # fmt: skip
        (path / f"{name}.json").write_text(json.dumps(value))
    return path
