"""Writes the folder of a random model: weights, a WordPiece vocabulary, config.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tokkit.files.safetensors import write_safetensors
from tokkit.pipeline import families

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, "the", "cat", "sat", "on", "a", "mat", ".", ",", "river", "bank", "money", "##s", "##ing", "of"]
BERT = {
    "model_type": "bert", "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": 20, "type_vocab_size": 2, "hidden_act": "gelu",
}  # fmt: skip


def tensors_of(config: dict[str, Any], *, seed: int = 0, head: bool = False) -> dict[str, np.ndarray]:
    """Random tensors by the names of the family's files."""
    spec = families.read(config)
    rng = np.random.default_rng(seed)
    shapes = {spec.family.prefix + name: shape for _, name, shape in families.names(spec)}
    if head:
        shapes |= {spec.head_name(name): shape for name, shape in spec.head_shapes().items()}
    return {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


def write(folder: Path, config: dict[str, Any] = BERT, tensors: dict[str, Any] | None = None, **files: Any) -> Path:
    """Write a folder; `files` are further ones, name → object of JSON, "/" in their names written as "__"."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors_of(config) if tensors is None else tensors)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    for name, value in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value))
    return folder


def classifier(folder: Path, labels: Sequence[str], *, tokens: bool = False, seed: int = 0, **more: Any) -> Path:
    """Write the folder of a BERT with a random head for labels, of whole texts or of each token; `more` is of `write`.

    Without more than one label it is a cross-encoder, whose label is the score.
    """
    task = "BertForTokenClassification" if tokens else "BertForSequenceClassification"
    config = BERT | {"architectures": [task], "id2label": {str(i): label for i, label in enumerate(labels)}}
    dim, rng = config["hidden_size"], np.random.default_rng(seed + 1)
    shapes = {"classifier.weight": (len(labels), dim), "classifier.bias": (len(labels),)}
    if not tokens:
        shapes |= {"bert.pooler.dense.weight": (dim, dim), "bert.pooler.dense.bias": (dim,)}
    head = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    config |= more.pop("config", {})
    return write(folder, config, tensors_of(config, seed=seed) | head, **more)
