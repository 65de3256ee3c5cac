"""The folder of a static model: how it is recognized and written, so that model2vec loads it too.

model2vec (github.com/MinishLab/model2vec): config.json, tokenizer.json, and model.safetensors with `embeddings`, and
where the vocabulary is quantized `mapping` (the row of each id) and `weights` (of each id). sentence-transformers: the
module StaticEmbedding, with tokenizer.json and model.safetensors with `embedding.weight`.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit import formats
from tokkit.errors import OptionError
from tokkit.files import files
from tokkit.files.safetensors import Tensor, write_safetensors
from tokkit.pipeline import modules

if TYPE_CHECKING:
    from tokkit.pipeline.static import StaticEncoder

KIND = "model2vec"
DTYPES = ("float32", "float16")
FILES = ("tokenizer.json", "config.json", "modules.json", "model.safetensors")
_MODULE = "sentence_transformers.models."


def is_static(folder: Path) -> bool:
    """Return whether a folder holds static vectors, and not an encoder."""
    if (folder / "modules.json").exists():
        return [kind for kind, _ in modules.listed(folder)][:1] == ["StaticEmbedding"]
    return modules.read_json(folder / "config.json", {}).get("model_type") == KIND


def check_place(folder: Path, *, overwrite: bool) -> None:
    """Raise OSError if a folder holds a static model and `overwrite` is False, or another kind of model."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{files.show(folder)} is a file; a model is a folder")
    there = [folder / name for name in FILES if os.path.lexists(folder / name)]
    if there and not is_static(folder):
        raise FileExistsError(f"{files.show(folder)} contains another kind of model; give a new folder")
    if there and not overwrite:
        raise FileExistsError(f"{files.show(there[0])} exists")


def write(model: StaticEncoder, folder: Path, *, dtype: str, overwrite: bool) -> list[Path]:
    """Write a model in model2vec's format; see `StaticEncoder.save`."""
    if dtype not in DTYPES:
        raise OptionError(f"dtype is {dtype!r}; it must be one of {', '.join(DTYPES)}")
    check_place(folder, overwrite=overwrite)
    definition = replace(model.tokenizer.definition, postprocessor=None, truncation=None, padding=None)
    paths = [folder / name for name in FILES]
    contents = dict(formats.contents_of(definition, paths[0]))
    own = model.options
    config = {
        "model_type": KIND, "architectures": ["StaticModel"], **own.about, "hidden_dim": model.dimension,
        "normalize": own.normalize, "max_length": own.max_length, "embedding_dtype": dtype,
    }  # fmt: skip
    row_of = model.row_of
    if row_of is None and len(model.vectors) != len(definition.vocab):
        # Needed if ids have no tokens: model2vec requires one row for each token, or this mapping.
        row_of = np.arange(len(model.vectors), dtype=np.uint32)
    tensors: dict[str, NDArray[Any] | Tensor] = {"embeddings": model.vectors.astype(dtype, copy=False)}
    if row_of is not None:
        config["vocabulary_quantization"] = len(model.vectors)
        tensors["mapping"] = row_of.astype(np.int64)
    if model.weights is not None:
        tensors["weights"] = model.weights
    chain = [{"idx": 0, "name": "0", "path": ".", "type": f"{_MODULE}StaticEmbedding"}]
    if own.normalize:
        chain.append({"idx": 1, "name": "1", "path": "1_Normalize", "type": f"{_MODULE}Normalize"})
    contents[paths[1]] = json.dumps(config, indent=1).encode() + b"\n"
    contents[paths[2]] = json.dumps(chain, indent=1).encode() + b"\n"
    folder.mkdir(parents=True, exist_ok=True)
    formats.put(contents)
    write_safetensors(paths[3], tensors)
    return paths
