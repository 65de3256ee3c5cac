"""Reads folders of static vectors, as model2vec and sentence-transformers write them."""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tokkit import loading
from tokkit.errors import FormatError, OptionError, ShapeError
from tokkit.files import files
from tokkit.files.safetensors import FLOATS, Tensors, read_safetensors
from tokkit.models.bpe import BPE
from tokkit.pipeline import modules
from tokkit.pipeline.static import StaticEncoder, StaticOptions
from tokkit.tokenizer import Tokenizer

DEFAULT_MAX_LENGTH = 512
"""Default maximum of tokens of a text if config.json does not state it, as in model2vec."""
MODULES = ("StaticEmbedding", "Normalize")
_OWN_KEYS = ("normalize", "max_length", "embedding_dtype", "hidden_dim", "vocabulary_quantization")


def read(folder: Path, *, max_length: int | None = None) -> StaticEncoder:
    """Return the model of a folder; `max_length` overrides that of the folder.

    FormatError names the file and the error.
    """
    StaticOptions(max_length=max_length)  # checks it
    home, normalize = folder, False
    if (folder / "modules.json").exists():
        found = modules.listed(folder)
        for kind, _ in found:
            if kind not in MODULES:
                raise FormatError(
                    f"{files.show(folder / 'modules.json')}: the module {kind} is not supported after StaticEmbedding"
                )
        home, normalize = found[0][1], found[-1][0] == "Normalize"
    path = home / "model.safetensors"
    tensors = read_safetensors(path)
    tokenizer = loading.load(home / "tokenizer.json")
    if "embeddings" in tensors:
        options = _as_model2vec(folder / "config.json", tokenizer, max_length)
    else:
        limit = max_length
        if limit is None and tokenizer.definition.truncation is not None:
            limit = tokenizer.definition.truncation.max_length
        told = modules.of_prompts(folder)
        options = StaticOptions(normalize=normalize, max_length=limit, drops_unknown=False, **told)
    with files.naming(path, ShapeError):
        parts = _parts(tensors)
        again = functools.partial(read, Path(os.path.abspath(folder)), max_length=max_length)
        return StaticEncoder(tokenizer, **cast("Any", parts), options=options, folder=folder, reload=again)


def _as_model2vec(path: Path, tokenizer: Tokenizer, max_length: int | None) -> StaticOptions:
    config = modules.read_json(path, {})
    limit, normalize = config.get("max_length", DEFAULT_MAX_LENGTH), config.get("normalize", False)
    about = {key: value for key, value in config.items() if key not in _OWN_KEYS}
    if not isinstance(normalize, bool):
        raise FormatError(f"{files.show(path)}: normalize is {normalize!r}; it must be true or false")
    with files.naming(path, OptionError):
        return options_of(tokenizer, limit if max_length is None else max_length, normalize=normalize, about=about)


def options_of(tokenizer: Tokenizer, max_length: int | None, **more: Any) -> StaticOptions:
    """Return options with model2vec's limit of characters: the maximum of tokens times the median length of a token."""
    options = StaticOptions(max_length=max_length, **more)
    if max_length is None:
        return options
    definition = tokenizer.definition
    # model2vec counts characters of tokens, one for each byte in byte-level vocabularies.
    as_bytes = isinstance(definition.model, BPE)
    lengths = [len(token if as_bytes else token.decode("utf-8", "replace")) for token in definition.vocab]
    return replace(options, max_characters=max_length * int(np.median(lengths)))


def _parts(tensors: Tensors) -> dict[str, NDArray[Any]]:
    if "embeddings" not in tensors:
        return {"vectors": _floats(tensors, "embedding.weight", 2)}
    parts: dict[str, NDArray[Any]] = {"vectors": _floats(tensors, "embeddings", 2)}
    if "weights" in tensors:
        parts["weights"] = _floats(tensors, "weights", 1)
    if "mapping" in tensors:
        mapping = tensors["mapping"]
        if mapping.data.dtype.kind not in "iu" or mapping.data.ndim != 1:
            raise FormatError(f"'mapping' is {mapping.dtype} of shape {mapping.shape}; it must be integers, (n)")
        n = len(parts["vectors"])
        if mapping.data.size and not 0 <= mapping.data.min() <= mapping.data.max() < n:
            ends = f"{mapping.data.min()} to {mapping.data.max()}"
            raise FormatError(f"'mapping' has rows {ends}, but 'embeddings' has {n} rows")
        parts["row_of"] = mapping.data.astype(np.uint32)
    return parts


def _floats(tensors: Tensors, name: str, axes: int) -> NDArray[np.float32]:
    if name not in tensors:
        there = ", ".join(map(repr, tensors)) or "none"
        raise FormatError(f"there is no tensor {name!r}, only {there}; one must be 'embeddings' or 'embedding.weight'")
    tensor = tensors[name]
    if len(tensor.shape) != axes or tensor.dtype not in (*FLOATS, "I8"):
        raise FormatError(
            f"{name!r} is {tensor.dtype} of shape {tensor.shape}; it must be floating point or I8 with {axes} axes"
        )
    # model2vec's int8 has no scale, because it normalizes vectors.
    made = tensor.data.astype(np.float32) if tensor.dtype == "I8" else tensor.float32()
    if not np.isfinite(made).all():
        raise FormatError(f"{name!r} contains NaN or infinity")
    return np.ascontiguousarray(made)
