"""Folders of trained language models: initial configurations, and files that transformers loads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.safetensors import write_safetensors
from tokkit.files.sharded import read_model
from tokkit.nn.arrays import Floats
from tokkit.pipeline import decoder_families, modules
from tokkit.pipeline.decoder_families import DecoderSpec
from tokkit.pipeline.decoder_weights import DecoderWeights
from tokkit.pipeline.training_checkpoints import NAME
from tokkit.tokenizer import Tokenizer

PRESETS: dict[str, dict[str, Any]] = {
    "llama-1m": {"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4},
    "llama-5m": {"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 5, "num_attention_heads": 4},
    "llama-14m": {"model_type": "llama", "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 6},
    "gpt2-1m": {"model_type": "gpt2", "n_embd": 128, "n_layer": 4, "n_head": 4},
    "gpt2-14m": {"model_type": "gpt2", "n_embd": 384, "n_layer": 6, "n_head": 6},
}
"""Name → the sizes of a model; parameters are counted with a vocabulary of a few thousand tokens."""
ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[SEP]")
"""Tokens that end a document: the first of these in the vocabulary is used."""
NEW = ("llama", "gpt2")
"""Types of new models, without biases or with all of them."""
TOKENIZER, CONFIG, WEIGHTS = "tokenizer.json", "config.json", "model.safetensors"
WRITTEN = (TOKENIZER, CONFIG, WEIGHTS, "tokenizer_config.json", NAME)
"""The files that a training writes."""


def end_token(tokenizer: Tokenizer) -> str | None:
    """Return the special token that ends documents; None if the tokenizer has none of `ENDS`."""
    return next((token for token in ENDS if token in tokenizer.special_tokens), None)


def config_of(config: str | os.PathLike[str] | Mapping[str, Any], tokenizer: Tokenizer, context: int) -> dict[str, Any]:
    """Return the config.json of a model from the name of a preset, a file or a mapping, for a tokenizer and a context.

    Missing keys are added: see `completed`.
    """
    made = stated_config(config, PRESETS)
    if made.get("model_type") not in NEW or made.get("attention_bias") or made.get("mlp_bias"):
        raise OptionError(
            f"config is of model_type {made.get('model_type')!r}; a new model must be one of {', '.join(NEW)}, "
            "without attention_bias and mlp_bias; to train another type further, give its folder as model"
        )
    return completed(made, tokenizer, context)


def stated_config(
    config: str | os.PathLike[str] | Mapping[str, Any], presets: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the configuration in a mapping, a preset or a config.json; OptionError if it is none of them."""
    if isinstance(config, Mapping):
        return dict(config)
    if isinstance(config, str) and config in presets:
        return dict(presets[config])
    if Path(config).is_file():
        return modules.read_json(Path(config))
    raise OptionError(
        f"config is {os.fspath(config)!r}; it must be one of {', '.join(presets)}, or the path of a config.json"
    )


def completed(config: Mapping[str, Any], tokenizer: Tokenizer, context: int) -> dict[str, Any]:
    """Return a configuration with its missing keys added: vocab_size, the positions, the tied head, the end token."""
    made, end = dict(config), end_token(tokenizer)
    is_gpt2 = made.get("model_type") == "gpt2"
    common: dict[str, Any] = {
        "vocab_size": tokenizer.n_ids, "tie_word_embeddings": True,
        "architectures": ["GPT2LMHeadModel" if is_gpt2 else "LlamaForCausalLM"],
        "bos_token_id": None, "eos_token_id": None if end is None else tokenizer.special_tokens[end],
    }  # fmt: skip
    if is_gpt2:
        common |= {"n_positions": context, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
    else:
        dim = made.get("hidden_size", 0)
        common |= {
            "max_position_embeddings": context, "rms_norm_eps": 1e-5, "hidden_act": "silu",
            # Three matrices as large as the two of a feed-forward with 4 dim, rounded to whole cache lines.
            "intermediate_size": (dim * 8 // 3 + 31) // 32 * 32 if isinstance(dim, int) else 0,
        }  # fmt: skip
    made = common | made
    if made["vocab_size"] < tokenizer.n_ids:
        raise OptionError(f"vocab_size is {made['vocab_size']}; the tokenizer has {tokenizer.n_ids} ids")
    return made


def spec_of(config: Mapping[str, Any], context: int) -> DecoderSpec:
    """Return the specification of a configuration, with biases where its family has them."""
    spec = decoder_families.read(config)
    if spec.max_length < context:
        raise OptionError(f"context is {context}; the configuration has positions for {spec.max_length} tokens")
    if spec.family is decoder_families.GPT2:
        spec = replace(spec, config=replace(spec.config, layers=replace(spec.config.layers, bias=True)))
    return spec


def read_weights(folder: Path, spec: DecoderSpec) -> dict[str, Floats]:
    """Return the weights of the model in a folder by our names, as float32."""
    found = DecoderWeights(read_model(folder), spec, files.show(folder))
    made = {}
    for name, array in found.items():
        if array.dtype == np.uint16:  # the table of tokens keeps its stored type
            array = (array.astype(np.uint32) << 16).view(np.float32)
        made[name] = np.array(array, dtype=np.float32)
    return made


def tensors_of(weights: Mapping[str, Floats], spec: DecoderSpec, prefix: str | None = None) -> dict[str, Any]:
    """Return name → tensor in the form of the family's files, from weights by our names; float32.

    `prefix` begins all names but those of the head; None: as in the family's files of language models.
    """
    family = spec.family
    if family.by_heads:
        raise FormatError("models that interleave queries and keys by heads cannot be written")
    made: dict[str, Any] = {}
    for ours, array in weights.items():
        name, part = spec.source(ours)
        if not ours.startswith("head."):
            name = (family.prefixes[0] if prefix is None else prefix) + name
        if family.norm_offset and "norm." in ours:
            array = array - np.float32(family.norm_offset)
        if part:
            made.setdefault(name, []).append(array)
        else:
            made[name] = array
        if part == "up" and family.up_first:
            made[name].reverse()  # ours is gate, up
    for name, array in made.items():
        whole = np.concatenate(array) if isinstance(array, list) else array
        turned = family.transposed and whole.ndim == 2 and f".{name}".count(".h.") == 1
        made[name] = np.ascontiguousarray(whole.T if turned else whole)
    return made


def write_start(folder: Path, config: Mapping[str, Any], tokenizer: Tokenizer) -> None:
    """Write the configuration and the tokenizer of a model before its training."""
    folder.mkdir(parents=True, exist_ok=True)
    end = end_token(tokenizer)
    context = config.get("max_position_embeddings", config.get("n_positions"))
    about: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": context}
    if end is not None:
        about["eos_token"] = end
    tokenizer.save(folder / TOKENIZER)
    for name, value in ((CONFIG, config), (WRITTEN[3], about)):
        files.write_atomically(folder / name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def write_model(folder: Path, weights: Mapping[str, Floats], spec: DecoderSpec) -> None:
    """Write the weights of a model into the folder with its configuration."""
    write_safetensors(folder / WEIGHTS, tensors_of(weights, spec), {"format": "pt"})
