"""Writes folders of GPT-2 and Llama models as GGUF files of one type of weights, for llama.cpp."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tokkit.files.safetensors import read_safetensors

KINDS = ("F32", "BF16", "F16", "Q8_0", "Q4_0")
LLAMA = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip
GPT2 = {
    "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
    "ln_1": "attn_norm", "ln_2": "ffn_norm",
}  # fmt: skip
OUTSIDE = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm",
}  # fmt: skip
BYTES = 259
"""Tokens up to the last of a byte: <unk>, <s>, </s>, and the bytes."""


def write_gguf(folder: Path, path: Path, kind: str) -> None:
    """Write the model of a folder; matrices have the type `kind`, one of KINDS, all else is F32."""
    import gguf

    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(path, config["model_type"])
    _describe(writer, config)
    chosen = gguf.GGMLQuantizationType[kind]
    for name, weight in _tensors(folder, config):
        if weight.ndim == 2 and not name.startswith("position"):
            writer.add_tensor(name, gguf.quants.quantize(weight, chosen), raw_dtype=chosen)
        else:
            writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, config: dict[str, Any]) -> None:
    gpt2 = config["model_type"] == "gpt2"
    dim, heads, layers, context = (
        config[name]
        for name in (
            ("n_embd", "n_head", "n_layer", "n_positions")
            if gpt2
            else ("hidden_size", "num_attention_heads", "num_hidden_layers", "max_position_embeddings")
        )
    )
    writer.add_context_length(context)
    writer.add_embedding_length(dim)
    writer.add_block_count(layers)
    writer.add_head_count(heads)
    if gpt2:
        writer.add_feed_forward_length(config["n_inner"] or 4 * dim)
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    else:
        writer.add_feed_forward_length(config["intermediate_size"])
        writer.add_head_count_kv(config["num_key_value_heads"])
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
        writer.add_rope_dimension_count(dim // heads)
    n = config["vocab_size"]
    writer.add_vocab_size(n)
    # A vocabulary of SentencePiece needs no merges. Texts are none of the benchmark's business.
    special, bytewise = ["<unk>", "<s>", "</s>"], [f"<0x{i:02X}>" for i in range(256)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*special, *bytewise, *(f"t{i}" for i in range(BYTES, n))])
    writer.add_token_scores([-float(i) for i in range(n)])
    writer.add_token_types([2, 3, 3, *[6] * 256, *[1] * (n - BYTES)])


def _tensors(folder: Path, config: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield names and weights as float32, laid out as files of the architecture have them."""
    gpt2 = config["model_type"] == "gpt2"
    heads, kv_heads = config.get("num_attention_heads", 0), config.get("num_key_value_heads", 0)
    tensors = read_safetensors(folder / "model.safetensors")
    for name in tensors:
        stem, _, kind = name.rpartition(".")
        weight = np.ascontiguousarray(tensors[name].float32())
        if stem in OUTSIDE:
            if stem != "lm_head" or not config.get("tie_word_embeddings", gpt2):
                yield f"{OUTSIDE[stem]}.{kind}", weight
            continue
        _, _, number, part = stem.split(".", 3)
        if gpt2 and weight.ndim == 2:
            weight = np.ascontiguousarray(weight.T)
        if part in ("self_attn.q_proj", "self_attn.k_proj"):
            # Columns that turn together are neighbours there.
            n = heads if part == "self_attn.q_proj" else kv_heads
            rows, columns = weight.shape
            weight = weight.reshape(n, 2, rows // n // 2, columns).swapaxes(1, 2).reshape(rows, columns)
        yield f"blk.{number}.{(GPT2 if gpt2 else LLAMA)[part]}.{kind}", np.ascontiguousarray(weight)
